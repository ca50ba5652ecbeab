// The commands that decide join requests: what they show is what they decide
// on (cases 133, 136).
#include "ops/cli/join_requests.hpp"

#include "base/json.hpp"
#include "tests/support/cli_shell.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace bc;
using testing::recorder;
using testing::shell;

namespace {

const std::string zeros(24, '0');
const std::string id_a = "jreq_" + zeros + "0a";
const std::string id_b = "jreq_" + zeros + "0b";
const std::string id_c = "jreq_" + zeros + "0c";
const std::string csr(64, 'a'), other_csr(64, 'b');

std::string record(const std::string& id, const std::string& state,
                   const std::string& reason = {}) {
  json::writer out;
  out.begin_object()
      .field("id", id)
      .field("state", state)
      .field("attestor", "tpm")
      .field("csrSha256", csr)
      .field("claimsChanged", id == id_b);
  out.key("claims").raw(R"({"serials":["SN-7701"],"macs":[],"gpuUuids":[]})");
  if (!reason.empty())
    out.field("reason", reason);
  return out.end_object().str();
}

/// Knows id_a and id_b; approving id_b is a CONFLICT.
std::pair<int, std::string> answer(const gateway::http_request& r) {
  if (r.path == "/api/compute/joinRequests/list") {
    auto in = json::parse_object(r.body);
    const std::string after =
        in.value().HasMember("cursor") ? in.value()["cursor"].GetString() : "";
    for (const auto& id : {id_a, id_b})
      if (id > after)
        return {200, R"({"items":[)" +
                         record(id, "pending",
                                "a\xe2\x80\xa8"
                                "b") +
                         "]}"};
    return {200, R"({"items":[]})"};
  }
  if (r.body.find(id_b) != std::string::npos ||
      r.body.find(id_c) != std::string::npos)
    return {409, R"({"error":{"code":"CONFLICT","message":"moved on"}})"};
  const bool approves = r.path.ends_with("approve");
  return {200, record(id_a, approves ? "approved" : "rejected")};
}

std::vector<std::string> in_pool(std::vector<std::string> words) {
  words.insert(words.end(), {"--pool", "pool_1"});
  return words;
}

}  // namespace

TEST_CASE("join-requests: the cursor right before an id") {
  CHECK(cli::cursor_before(id_b) == id_a);
  CHECK(cli::cursor_before("jreq_" + zeros + "10") == "jreq_" + zeros + "0z");
  CHECK(cli::cursor_before("jreq_" + zeros + "0j") == "jreq_" + zeros + "0h");
  CHECK(cli::cursor_before("jreq_" + zeros + "00").empty());
}

TEST_CASE("join-requests: what is approved is the CSR that was shown") {
  recorder api{answer};
  shell sh{api.url()};
  auto got = sh.run(in_pool({"join-requests", "approve", id_a, "--ttl", "900",
                             "--reason", "rack b7"}));
  INFO(got.err);
  CHECK(got.exit_code == cli::done);
  CHECK(got.out.find(csr) != std::string::npos);
  REQUIRE(api.calls() == 2);
  CHECK(api.last().path == "/api/compute/joinRequests/approve");
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","poolId":"pool_1","requestId":")" + id_a +
            R"(","ttlSeconds":900,"csrSha256":")" + csr +
            R"(","reason":"rack b7"})");
  // Who names one has looked at it, and is not asked what was there since.
  got = sh.run(in_pool({"join-requests", "approve", id_a, "--csr", other_csr}));
  CHECK(got.exit_code == cli::done);
  CHECK(api.calls() == 3);
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","poolId":"pool_1","requestId":")" + id_a +
            R"(","ttlSeconds":3600,"csrSha256":")" + other_csr + R"("})");
  got = sh.run(in_pool({"join-requests", "reject", id_a, "--reason", "no"}));
  CHECK(got.exit_code == cli::done);
  CHECK(api.last().path == "/api/compute/joinRequests/reject");
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","poolId":"pool_1","requestId":")" + id_a +
            R"(","reason":"no"})");
  got = sh.run(in_pool({"join-requests", "approve", id_b, "--csr", csr}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("CONFLICT: moved on") != std::string::npos);
}

TEST_CASE("join-requests: none is approved without its CSR") {
  recorder api{answer};
  shell sh{api.url()};
  // The list does not show it: the read models may be behind.
  auto got = sh.run(in_pool({"join-requests", "approve", id_c, "--yes"}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("NOT_FOUND") != std::string::npos);
  CHECK(api.calls() == 1);
  CHECK(api.last().path == "/api/compute/joinRequests/list");
  // What a table prints of it names it, and all of it is sent.
  const auto shown = csr.substr(0, 16);
  got = sh.run(
      in_pool({"join-requests", "approve", id_a, "--csr", shown, "--yes"}));
  INFO(got.err);
  CHECK(got.exit_code == cli::done);
  CHECK(api.last().body.find(R"("csrSha256":")" + csr + '"') !=
        std::string::npos);
  const auto calls = api.calls();
  got = sh.run(in_pool({"join-requests", "approve", id_a, "--csr",
                        csr.substr(0, 40) + "bb", "--yes"}));
  CHECK(got.exit_code == cli::refused);
  got = sh.run(in_pool(
      {"join-requests", "approve", id_a, "--csr", other_csr.substr(0, 16)}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("CONFLICT") != std::string::npos);
  got = sh.run(in_pool({"join-requests", "approve", id_c, "--csr", shown}));
  CHECK(got.err.find("NOT_FOUND") != std::string::npos);
  // Nobody saw that it changed.
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"join-requests", "approve", id_b, "--yes"},
           {"join-requests", "approve", id_b}}) {
    got = sh.run(in_pool(words));
    CHECK(got.exit_code == cli::refused);
    CHECK(got.err.find("--csr") != std::string::npos);
    CHECK(api.last().path == "/api/compute/joinRequests/list");
  }
  CHECK(api.last().path == "/api/compute/joinRequests/list");
  CHECK(api.calls() == calls + 5);
  got = sh.run(in_pool({"join-requests", "reject", id_c, "--yes"}));
  CHECK(api.last().path == "/api/compute/joinRequests/reject");
}

TEST_CASE("join-requests: many from a file, with a line for each") {
  recorder api{answer};
  shell sh{api.url()};
  const auto file = sh.folder + "/ids";
  write_text(file, "# rack b7\n" + id_a + "\n\n  " + id_b + " " + other_csr +
                       "\t\r\n" + id_c + "\n" + id_a + "\n");
  // Nothing is decided before it was agreed to.
  auto got = sh.run(in_pool({"join-requests", "approve", "--file", file}));
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("--yes") != std::string::npos);
  CHECK(got.err.find("SN-7701") != std::string::npos);
  CHECK(got.err.find(id_c + " is not this pool's to see") != std::string::npos);
  CHECK(api.last().path == "/api/compute/joinRequests/list");
  got = sh.run(in_pool({"join-requests", "approve", "--file", file, "--yes"}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.out.starts_with(id_a + " approved\n" + id_b +
                            " CONFLICT: moved on\n" + id_c + " NOT_FOUND: "));
  CHECK(got.err.find("2 of 3 were not decided") != std::string::npos);
  CHECK(api.last().body.find(id_b) != std::string::npos);
  write_text(file, id_b + "\n" + id_a + " " + csr.substr(0, 20) + "\n" + id_c +
                       " " + csr + "\n");
  auto calls = api.calls();
  got = sh.run(in_pool({"join-requests", "approve", "--file", file, "--yes"}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.out.find(id_b + " CONFLICT: It is not") == 0);
  CHECK(got.out.find(id_a + " approved\n" + id_c + " CONFLICT: moved on\n") !=
        std::string::npos);
  CHECK(api.calls() == calls + 3 + 2);
  write_text(file, id_a + "\n" + id_b + "\n");
  got = sh.run(in_pool({"join-requests", "reject", "--file", file, "--yes",
                        "--output", "json"}));
  CHECK(got.out.substr(0, got.out.find('\n')) ==
        R"({"id":")" + id_a + R"(","state":"rejected"})");
  CHECK(got.out.find(R"({"id":")" + id_b + R"(","error":{"code":"CONFLICT")") !=
        std::string::npos);
}

TEST_CASE("join-requests: what cannot be meant is not sent") {
  recorder api{answer};
  shell sh{api.url()};
  const auto file = sh.folder + "/ids";
  for (const auto& text : std::vector<std::string>{
           "", "# nothing\n", "jreq_short\n", id_a + " x\n",
           id_a + " " + csr.substr(0, 15) + "\n", id_a + " " + csr + "a\n",
           id_a + " " + csr + " more\n", "bcjt_jt_1.secret\n",
           id_a + std::string(500, ' ') + "\n"}) {
    INFO(text.substr(0, 60));
    write_text(file, text);
    auto got =
        sh.run(in_pool({"join-requests", "approve", "--file", file, "--yes"}));
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("secret") == std::string::npos);
  }
  write_text(file, id_a + "\n");
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"join-requests", "approve"},
           {"join-requests", "approve", id_a, "--file", file},
           {"join-requests", "approve", "--file", file, "--csr", csr},
           {"join-requests", "approve", id_a, "--csr", csr.substr(0, 15)},
           {"join-requests", "approve", id_a, "--csr", std::string(16, 'A')},
           {"join-requests", "approve", id_a, "--ttl", "59"},
           {"join-requests", "approve", id_a, "--ttl", "15m"},
           {"join-requests", "reject", id_a, "--ttl", "900"},
           {"join-requests", "approve", "bcjt_jt_1.secret"},
           {"join-requests", "approve", id_a, "--reason", ""}}) {
    auto got = sh.run(in_pool(words));
    INFO(got.err);
    CHECK(got.exit_code == cli::usage);
  }
  CHECK(sh.run({"join-requests", "approve", id_a}).exit_code == cli::usage);
  CHECK(api.calls() == 0);
}

TEST_CASE("join-requests: the list, and words of others in it (case 136)") {
  recorder api{200, R"({"items":[)" +
                        record(id_b, "pending",
                               "a\xe2\x80\xa8"
                               "b") +
                        "]}"};
  shell sh{api.url()};
  auto got = sh.run(in_pool({"join-requests", "list", "--state", "all"}));
  INFO(got.out << got.err);
  CHECK(got.exit_code == cli::done);
  CHECK(api.last().body.find(R"("state":"all")") != std::string::npos);
  CHECK(got.out.find("SN-7701") != std::string::npos);
  CHECK(got.out.find("changed") != std::string::npos);
  CHECK(got.out.find(csr.substr(0, 16)) != std::string::npos);
  // U+2028 does not break the line.
  CHECK(got.out.find("\\u2028") != std::string::npos);
  CHECK(got.out.find("\xe2\x80\xa8") == std::string::npos);
  CHECK(std::count(got.out.begin(), got.out.end(), '\n') == 2);
  CHECK(sh.run(in_pool({"join-requests", "list", "--state", "Pending"}))
            .exit_code == cli::usage);
}
