// commands enqueue, get and list on the command line (docs/commands.md).
#include "tests/support/cli_shell.hpp"

#include <atomic>

using namespace bc;
using testing::recorder;
using testing::shell;

namespace {

std::string command(const std::string& status) {
  return R"({"id":"cmd_1","nodeId":"node_1","status":")" + status + "\"}";
}

std::vector<std::string> enqueue(std::vector<std::string> more = {}) {
  std::vector<std::string> words{"commands", "enqueue", "node_1",
                                 "ping",     "--key",   "k"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("node commands: what is sent", "[ops]") {
  recorder api{200, command("pending")};
  shell sh{api.url()};
  auto got = sh.run(enqueue());
  INFO(got.err);
  CHECK(got.exit_code == cli::done);
  CHECK(api.calls() == 1);
  CHECK(api.last().path == "/api/compute/commands/enqueue");
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","nodeId":"node_1","kind":"ping",)"
        R"("idempotencyKey":"k"})");
  const auto file = sh.folder + "/payload.json";
  write_text(file, R"({"a":[1]})");
  CHECK(sh.run(enqueue({"--payload", file, "--ttl", "1m"})).exit_code ==
        cli::done);
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","nodeId":"node_1","kind":"ping",)"
        R"("payload":{"a":[1]},"ttlSeconds":60,"idempotencyKey":"k"})");
  const auto before = api.calls();
  write_text(file, "[1]");
  CHECK(sh.run(enqueue({"--payload", file})).exit_code == cli::usage);
  CHECK(sh.run(enqueue({"--ttl", "59s"})).exit_code == cli::usage);
  CHECK(sh.run({"commands", "enqueue", "node_1", "ping"}).exit_code ==
        cli::usage);
  CHECK(api.calls() == before);
  CHECK(sh.run({"commands", "get", "node_1", "cmd_1"}).exit_code == cli::done);
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","nodeId":"node_1","commandId":"cmd_1"})");
}

TEST_CASE("node commands: --wait asks until it has an outcome", "[ops]") {
  struct row {
    const char* status;
    int exit_code;
  };
  for (const auto& r :
       {row{"succeeded", cli::done}, row{"failed", cli::refused},
        row{"expired", cli::refused}}) {
    INFO(r.status);
    std::atomic<int> asked = 0;
    recorder api{[&](const gateway::http_request& request) {
      const bool is_get = request.path.ends_with("/get");
      // A server that restarts meanwhile is asked again.
      if (is_get && ++asked == 1)
        return std::pair{503, std::string{R"({"error":{"code":"UNAVAILABLE",)"
                                          R"("message":"later"}})"}};
      return std::pair{200, command(asked >= 2 ? r.status : "pending")};
    }};
    shell sh{api.url()};
    auto got = sh.run(enqueue({"--wait"}));
    INFO(got.err);
    CHECK(got.exit_code == r.exit_code);
    CHECK(got.out.find(r.status) != std::string::npos);
    CHECK(asked == 2);
    CHECK(api.last().body ==
          R"({"tenantId":"ten_x","nodeId":"node_1","commandId":"cmd_1"})");
  }
}

TEST_CASE("node commands: --wait ends where it is refused", "[ops]") {
  recorder api{[](const gateway::http_request& request) {
    if (request.path.ends_with("/get"))
      return std::pair{403, std::string{R"({"error":{"code":"ACCESS_DENIED",)"
                                        R"("message":"no"}})"}};
    return std::pair{200, command("pending")};
  }};
  shell sh{api.url()};
  auto got = sh.run(enqueue({"--wait"}));
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("ACCESS_DENIED") != std::string::npos);
  CHECK(api.calls() == 2);
}
