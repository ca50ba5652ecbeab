// `nodes revoke --by-token`: who would be cut, then a line for each.
#include "base/json.hpp"
#include "tests/support/cli_shell.hpp"

#include <string>
#include <utility>

using namespace bc;
using testing::recorder;
using testing::shell;

namespace {

const std::string token = "jt_" + std::string(52, '0');

std::string item(const std::string& name, const std::string& outcome,
                 const std::string& more = {}) {
  return R"({"nodeId":")" + name + R"(","poolId":"pool_1","hostname":"host-)" +
         name + R"(","status":"adopted","connected":true,"outcome":")" +
         outcome + "\"" + more + "}";
}

bool is_dry(const gateway::http_request& r) {
  return r.body.find(R"("dryRun":true)") != std::string::npos;
}

bool has_cursor(const gateway::http_request& r) {
  return r.body.find(R"("cursor":"node_2")") != std::string::npos;
}

std::pair<int, std::string> not_expected() {
  return {500, "{}"};
}

// Three nodes on two pages.
std::pair<int, std::string> two_pages(const gateway::http_request& r,
                                      const std::string& outcome) {
  if (has_cursor(r))
    return {200,
            R"({"items":[)" + item("node_3", outcome) + R"(],"position":9})"};
  return {200, R"({"items":[)" + item("node_1", outcome) + "," +
                   item("node_2", "unchanged") +
                   R"(],"cursor":"node_2","position":8})"};
}

}  // namespace

TEST_CASE("nodes revoke: shows whose identities, then revokes, page by page",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    return two_pages(r, is_dry(r) ? "would-revoke" : "revoked");
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "revoke", "--by-token", token, "--reason",
                     "it leaked", "--yes"});
  INFO(got.out << got.err);
  CHECK(got.exit_code == 0);
  CHECK(api.calls() == 4);
  CHECK(api.last().path == "/api/compute/nodes/revokeByToken");
  CHECK(got.out.find("would-revoke") < got.out.find("  revoked"));
  CHECK(got.out.find("host-node_3") != std::string::npos);
  CHECK(api.last().body.find(R"("reason":"it leaked")") != std::string::npos);
}

TEST_CASE("nodes revoke: --dry-run changes nothing, and asks nothing",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    return is_dry(r) ? two_pages(r, "would-revoke") : not_expected();
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "revoke", "--by-token", token, "--dry-run",
                     "--output", "json"});
  CHECK(got.exit_code == 0);
  auto items = json::parse_object(got.out);
  REQUIRE(items);
  CHECK(items.value()["items"].Size() == 3);
}

TEST_CASE("nodes revoke: without --yes and a terminal nothing is done",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    return is_dry(r) ? two_pages(r, "would-revoke") : not_expected();
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "revoke", "--by-token", token});
  CHECK(got.exit_code == 2);
  CHECK(got.err.find("--yes") != std::string::npos);
  CHECK(api.calls() == 2);
}

TEST_CASE("nodes revoke: nothing to revoke is done at once",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    return is_dry(r) ? two_pages(r, "unchanged") : not_expected();
  }};
  shell sh{api.url()};
  auto got =
      sh.run({"nodes", "revoke", "--by-token", token, "--output", "json"});
  CHECK(got.exit_code == 0);
  CHECK(got.out.find("unchanged") != std::string::npos);
}

TEST_CASE("nodes revoke: what failed is told and is the command's failure",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    if (is_dry(r))
      return std::pair{200, R"({"items":[)" + item("node_1", "would-revoke") +
                                "," + item("node_2", "would-revoke") +
                                R"(],"position":4})"};
    return std::pair{200,
                     R"({"items":[)" + item("node_1", "revoked") + "," +
                         item("node_2", "failed",
                              R"(,"code":"UNAVAILABLE","message":"retry it")") +
                         R"(],"position":5})"};
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "revoke", "--by-token", token, "--yes"});
  INFO(got.out << got.err);
  CHECK(got.exit_code == 1);
  CHECK(got.out.find("retry it") != std::string::npos);
  CHECK(got.err.find("1 node still") != std::string::npos);
}

TEST_CASE("nodes revoke: pages that were done are shown when a later one fails",
          "[ops][nodes-revoke]") {
  recorder api{[](const gateway::http_request& r) {
    if (!is_dry(r) && has_cursor(r))
      return std::pair{503,
                       std::string{R"({"error":{"code":"UNAVAILABLE",)"
                                   R"("message":"retry","requestId":"x"}})"}};
    return two_pages(r, is_dry(r) ? "would-revoke" : "revoked");
  }};
  shell sh{api.url()};
  auto got = sh.run(
      {"nodes", "revoke", "--by-token", token, "--yes", "--output", "json"});
  CHECK(got.exit_code == 1);
  auto items = json::parse_object(got.out);
  REQUIRE(items);
  CHECK(items.value()["items"].Size() == 2);
  CHECK(got.err.find("UNAVAILABLE") != std::string::npos);
}

TEST_CASE("nodes revoke: a whole token is no id (case 4)",
          "[ops][nodes-revoke]") {
  recorder api{200, "{}"};
  shell sh{api.url()};
  const std::string secret(43, 's');
  auto got =
      sh.run({"nodes", "revoke", "--by-token", "bcjt_x." + secret, "--yes"});
  CHECK(got.exit_code == 2);
  CHECK(api.calls() == 0);
  CHECK(got.err.find(secret) == std::string::npos);
}
