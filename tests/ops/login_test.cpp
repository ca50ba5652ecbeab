// spec: DESIGN section 11 (login, profile), section 5 (read-your-writes).
#include "base/json.hpp"
#include "tests/support/cli_shell.hpp"

#include <filesystem>

namespace fs = std::filesystem;
using namespace bc;
using testing::recorder;
using testing::shell;
using testing::variable;

namespace {

const std::string no_grant =
    R"({"error":{"code":"ACCESS_DENIED","message":"no","requestId":"r"}})";

std::string write_secret(const shell& sh, const std::string& text) {
  auto path = sh.folder + "/credential";
  write_text(path, text + "\n");
  ::chmod(path.c_str(), 0600);
  return path;
}

/// A home without a credential in the environment.
struct home : shell {
  explicit home(const std::string& url) : shell(url) {
    ::unsetenv("BETTER_COMPUTE_CREDENTIAL");
  }
  testing::ended log_in(const recorder& api,
                        std::vector<std::string> more = {}) const {
    std::vector<std::string> words{
        "login", "--url", api.url(), "--credential-file",
        write_secret(*this, testing::cli_credential)};
    words.insert(words.end(), more.begin(), more.end());
    return run_alone(words);
  }
};

}  // namespace

TEST_CASE("login: afterwards commands need no flags", "[ops][login]") {
  recorder api{200, R"({"items":[{"id":"e","tenantid":"ten_mine"}]})"};
  home sh{api.url()};
  auto got = sh.log_in(api, {"--pool", "pool_p"});
  INFO(got.err);
  REQUIRE(got.exit_code == cli::done);
  CHECK(got.out.find("ten_mine") != std::string::npos);
  CHECK((got.out + got.err).find(testing::cli_secret) == std::string::npos);
  fs::remove(sh.folder + "/credential");

  CHECK(sh.run_alone({"join-tokens", "list"}).exit_code == cli::done);
  auto sent = api.last();
  CHECK(sent.headers["authorization"] == "Bearer " + testing::cli_credential);
  CHECK(sent.body.find(R"("tenantId":"ten_mine","poolId":"pool_p")") !=
        std::string::npos);
  // A filter is not a default.
  CHECK(sh.run_alone({"nodes", "list"}).exit_code == cli::done);
  CHECK(api.last().body.find("poolId") == std::string::npos);
  // Flags over the environment over the profile.
  variable tenant{"BETTER_COMPUTE_TENANT", "ten_env"};
  CHECK(sh.run_alone({"nodes", "list"}).exit_code == cli::done);
  CHECK(api.last().body.find("ten_env") != std::string::npos);
  CHECK(sh.run_alone({"nodes", "list", "--tenant", "ten_flag"}).exit_code ==
        cli::done);
  CHECK(api.last().body.find("ten_flag") != std::string::npos);

  CHECK(sh.run_alone({"profiles"}).out.find("ten_mine") != std::string::npos);
  CHECK(sh.run_alone({"logout"}).exit_code == cli::done);
  CHECK(read_text(sh.profile_file()).find(testing::cli_secret) ==
        std::string::npos);
  CHECK(sh.run_alone({"logout"}).exit_code == cli::refused);
}

TEST_CASE("login: nothing is kept of what the server refuses", "[ops][login]") {
  recorder api{401, R"({"error":{"code":"UNAUTHENTICATED","message":"who?"}})"};
  home sh{api.url()};
  auto got = sh.log_in(api);
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("UNAUTHENTICATED") != std::string::npos);
  CHECK_FALSE(fs::exists(sh.profile_file()));
  auto away =
      sh.run_alone({"login", "--url", "http://127.0.0.1:1", "--credential-file",
                    write_secret(sh, testing::cli_credential)});
  CHECK(away.exit_code == cli::unreachable);
  CHECK_FALSE(fs::exists(sh.profile_file()));
}

TEST_CASE("login: a credential that may do little is good", "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  CHECK(sh.log_in(api, {"--tenant", "ten_t"}).exit_code == cli::done);
  CHECK(sh.run_alone({"profiles"}).out.find("ten_t") != std::string::npos);
}

TEST_CASE("login: a pool is checked in a tenant that is known",
          "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  auto got = sh.log_in(api, {"--pool", "pool_p"});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("--pool needs --tenant") != std::string::npos);
  CHECK_FALSE(fs::exists(sh.profile_file()));
  CHECK(sh.log_in(api, {"--pool", "pool_p", "--tenant", "ten_t"}).exit_code ==
        cli::done);
}

TEST_CASE("login: a path may be kept instead", "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  CHECK(sh.log_in(api, {"--tenant", "ten_t", "--keep-path"}).exit_code ==
        cli::done);
  auto text = read_text(sh.profile_file());
  CHECK(text.find(testing::cli_secret) == std::string::npos);
  CHECK(text.find(sh.folder + "/credential") != std::string::npos);
  sh.run_alone({"nodes", "list"});
  CHECK(api.last().headers["authorization"] ==
        "Bearer " + testing::cli_credential);
  // Again, for another pool: the path stays.
  CHECK(sh.run_alone({"login", "--pool", "pool_q"}).exit_code == cli::done);
  CHECK(read_text(sh.profile_file()).find("credential_file") !=
        std::string::npos);
}

TEST_CASE("login: a profile's credential goes to its own URL alone",
          "[ops][login]") {
  recorder api{403, no_grant};
  recorder other{200, R"({"items":[]})"};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_t"}).exit_code == cli::done);
  auto got = sh.run_alone(
      {"nodes", "list", "--tenant", "ten_t", "--url", other.url()});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("UNAUTHENTICATED") != std::string::npos);
  CHECK(got.err.find(api.url()) != std::string::npos);
  CHECK(other.calls() == 0);
}

TEST_CASE("login: doctor looks at the profile's API", "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  REQUIRE(sh.run_alone({"doctor"}).out.find("api: not given") !=
          std::string::npos);
  REQUIRE(sh.log_in(api, {"--tenant", "ten_t"}).exit_code == cli::done);
  const auto before = api.calls();
  auto got = sh.run_alone({"doctor"});
  CHECK(got.exit_code == cli::refused);
  CHECK(got.out.find(api.url() + " is not ready") != std::string::npos);
  CHECK(api.calls() == before + 1);
  // It asks without a credential.
  CHECK(api.last().headers["authorization"].empty());
  CHECK(sh.run_alone({"doctor", "--profile", "none"}).exit_code == cli::usage);
}

TEST_CASE("login: a profile for another URL gives no tenant, and says so",
          "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_t"}).exit_code == cli::done);
  auto got = sh.run_alone({"nodes", "list", "--url", "http://127.0.0.1:1"});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("--tenant is required") != std::string::npos);
  CHECK(got.err.find("the profile's is for " + api.url() +
                     ", not for http://127.0.0.1:1") != std::string::npos);
}

TEST_CASE("login: a position beyond every journal is not kept",
          "[ops][login]") {
  std::string position;
  recorder api{[&](const gateway::http_request& request) {
    return request.path.ends_with("/create")
               ? std::pair{200, R"({"id":"ten_n","position":)" + position + "}"}
               : std::pair{200, std::string{R"({"items":[]})"}};
  }};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_a"}).exit_code == cli::done);
  for (const char* one : {"41", "9223372036854775808", "18446744073709551615",
                          "18446744073709551616", "-1"}) {
    CAPTURE(one);
    position = one;
    CHECK(sh.run_alone({"tenants", "create", "--name", "n"}).exit_code ==
          cli::done);
    CHECK(sh.run_alone({"tenants", "list"}).exit_code == cli::done);
    CHECK(api.last().headers["x-min-position"] == "41");
  }
}

TEST_CASE("login: several profiles, by flag or variable", "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_a"}).exit_code == cli::done);
  REQUIRE(sh.log_in(api, {"--tenant", "ten_b", "--profile", "lab"}).exit_code ==
          cli::done);
  sh.run_alone({"nodes", "list"});
  CHECK(api.last().body.find("ten_a") != std::string::npos);
  sh.run_alone({"nodes", "list", "--profile", "lab"});
  CHECK(api.last().body.find("ten_b") != std::string::npos);
  {
    variable profile{"BETTER_COMPUTE_PROFILE", "lab"};
    sh.run_alone({"nodes", "list"});
    CHECK(api.last().body.find("ten_b") != std::string::npos);
  }
  auto none = sh.run_alone({"nodes", "list", "--profile", "elsewhere"});
  CHECK(none.exit_code == cli::usage);
  CHECK(none.err.find("there is no profile elsewhere") != std::string::npos);
  CHECK(sh.log_in(api, {"--profile", "a b"}).exit_code == cli::usage);
}

TEST_CASE("login: an open profile is refused, and says what to do",
          "[ops][login]") {
  recorder api{403, no_grant};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_a"}).exit_code == cli::done);
  ::chmod(sh.profile_file().c_str(), 0644);
  const auto before = api.calls();
  auto got = sh.run_alone({"nodes", "list"});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("chmod 600") != std::string::npos);
  CHECK(api.calls() == before);
}

TEST_CASE("login: reads wait for the profile's last own change",
          "[ops][login]") {
  bool behind = false;
  recorder api{[&](const gateway::http_request& request) {
    if (request.path.ends_with("/create"))
      return std::pair{200, std::string{R"({"id":"ten_n","position":41})"}};
    if (behind && request.headers.count("x-min-position") > 0)
      return std::pair{
          400, std::string{R"({"error":{"code":"INVALID_INPUT","message":)"
                           R"("x-min-position is beyond the journal's head",)"
                           R"("requestId":"r"}})"}};
    return std::pair{200, std::string{R"({"items":[]})"}};
  }};
  home sh{api.url()};
  REQUIRE(sh.log_in(api, {"--tenant", "ten_a"}).exit_code == cli::done);
  sh.run_alone({"tenants", "list"});
  CHECK(api.last().headers.count("x-min-position") == 0);
  REQUIRE(sh.run_alone({"tenants", "create", "--name", "n"}).exit_code ==
          cli::done);
  sh.run_alone({"tenants", "list"});
  CHECK(api.last().headers["x-min-position"] == "41");
  // A restored server does not know that position: told, then forgotten.
  behind = true;
  auto got = sh.run_alone({"tenants", "list"});
  CHECK(got.exit_code == cli::done);
  CHECK(got.err.find("ends before position 41") != std::string::npos);
  behind = false;
  sh.run_alone({"tenants", "list"});
  CHECK(api.last().headers.count("x-min-position") == 0);
}
