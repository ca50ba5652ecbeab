// spec: joining#creating-a-token, DESIGN section 11; CASES 4, 21, 169, 170.
#include "base/json.hpp"
#include "tests/support/cli_shell.hpp"

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace bc;
using testing::recorder;
using testing::shell;
using testing::variable;

namespace {

const std::string& secret = testing::cli_secret;
const std::string& credential = testing::cli_credential;

std::vector<std::string> create(std::vector<std::string> more = {}) {
  std::vector<std::string> words{"join-tokens", "create", "--pool", "pool_x",
                                 "--ttl",       "1h",     "--key",  "k"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("arguments: an empty value is refused, never taken for none",
          "[ops][arguments]") {
  recorder api{200, R"({"id":"jt_1","token":"bcjt_jt_1.x"})"};
  shell sh{api.url()};
  for (const char* option :
       {"--expect-serial", "--expect-mac", "--expect-product-uuid",
        "--expect-gpu-uuid", "--out", "--hosted"}) {
    CAPTURE(option);
    auto got = sh.run(create({option, ""}));
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("better-compute: INVALID_INPUT: ") == 0);
    CHECK(got.err.find(option) != std::string::npos);
    CHECK(got.out.empty());
  }
  CHECK(sh.run({"nodes", "list", "--pool", ""}).exit_code == cli::usage);
  CHECK(sh.run({"events", "list", "--type", ""}).exit_code == cli::usage);
  CHECK(sh.run({"credentials", "create", "--principal", "p", "--grant", "*@*",
                "--for-tenant", ""})
            .exit_code == cli::usage);
  CHECK(api.calls() == 0);
  CHECK(sh.run(create()).exit_code == cli::done);
  CHECK(api.calls() == 1);
}

TEST_CASE("arguments: an empty place or tenant is not the profile's",
          "[ops][arguments]") {
  recorder api{200, R"({"items":[{"id":"e","tenantid":"ten_mine"}]})"};
  shell sh{api.url()};
  REQUIRE(sh.run_alone({"login", "--url", api.url()}).exit_code == cli::done);
  REQUIRE(sh.run_alone({"nodes", "list"}).exit_code == cli::done);
  const auto before = api.calls();
  for (const char* option :
       {"--url", "--tenant", "--ca-file", "--profile", "--credential-file"}) {
    CAPTURE(option);
    auto got = sh.run_alone({"nodes", "list", option, ""});
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find(option) != std::string::npos);
    CHECK(got.err.find("must not be empty") != std::string::npos);
  }
  CHECK(api.calls() == before);
  // A variable that is empty counts as not set.
  variable url{"BETTER_COMPUTE_URL", ""};
  variable tenant{"BETTER_COMPUTE_TENANT", ""};
  variable ca{"BETTER_COMPUTE_CA_FILE", ""};
  CHECK(sh.run_alone({"nodes", "list"}).exit_code == cli::done);
}

TEST_CASE("arguments: --out is a file, never -", "[ops][arguments]") {
  recorder api{200, R"({"id":"jt_1","token":"bcjt_jt_1.x"})"};
  shell sh{api.url()};
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"join-tokens", "create", "--pool", "pool_x", "--ttl", "1h", "--key",
            "k", "--out", "-"},
           {"credentials", "create", "--principal", "p", "--grant", "*@*",
            "--out", "-"},
           {"journal", "export", "--store", "sqlite:/nonexistent", "--out",
            "-"}}) {
    auto got = sh.run_alone(words);
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("without --out it goes to standard output") !=
          std::string::npos);
  }
  auto got = sh.run_alone({"credentials", "bootstrap", "--store",
                           "sqlite:/nonexistent", "--out", "-"});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find("must be the path of a new file, not -;") !=
        std::string::npos);
  CHECK(got.err.find("standard output") == std::string::npos);
  CHECK(api.calls() == 0);
  CHECK_FALSE(fs::exists("-"));
}

TEST_CASE("arguments: a flag stands over the environment", "[ops][arguments]") {
  recorder api{200, R"({"items":[]})"};
  shell sh{api.url()};
  variable url{"BETTER_COMPUTE_URL", "http://127.0.0.1:1"};
  variable tenant{"BETTER_COMPUTE_TENANT", "ten_y"};
  variable ca{"BETTER_COMPUTE_CA_FILE", "/nonexistent"};
  for (const char* group :
       {"tenants", "sites", "pools", "nodes", "credentials", "events"}) {
    CAPTURE(group);
    auto before = api.calls();
    CHECK(sh.run({group, "list"}).exit_code == cli::done);
    CHECK(api.calls() == before + 1);
    CHECK(api.last().body.find(R"("tenantId":"ten_x")") != std::string::npos);
  }
}

TEST_CASE("arguments: keys go to the store that a flag names",
          "[ops][arguments]") {
  shell sh{"http://127.0.0.1:1"};
  variable secret_text{"BETTER_COMPUTE_SECRET", "a secret of some length"};
  variable store{"BETTER_COMPUTE_STORE", "sqlite:/nonexistent/environment.db"};
  for (const char* command : {"show", "init", "issue-gateway"}) {
    CAPTURE(command);
    std::vector<std::string> words{"pki", command, "--store",
                                   "sqlite:/nonexistent/flag.db"};
    for (const auto& more :
         std::string{command} == "init"
             ? std::vector<std::string>{"--trust-domain", "example.com"}
         : std::string{command} == "show"
             ? std::vector<std::string>{}
             : std::vector<std::string>{"--name", "a.example.com", "--out-dir",
                                        sh.folder + "/gateway"})
      words.push_back(more);
    auto got = sh.run_alone(words);
    CHECK(got.exit_code == cli::refused);
    CHECK(got.err.find("flag.db") != std::string::npos);
    CHECK(got.err.find("environment.db") == std::string::npos);
  }
}

TEST_CASE("arguments: a command that is not there is named",
          "[ops][arguments]") {
  shell sh{"http://127.0.0.1:1"};
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"frob"}, {"pki", "frob"}, {"nodes", "frob"}}) {
    auto got = sh.run_alone(words);
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("unexpected argument frob") != std::string::npos);
  }
}

TEST_CASE("arguments: uses are plain decimal from 1 to 10000",
          "[ops][arguments]") {
  recorder api{200, R"({"id":"jt_1","token":"bcjt_jt_1.x"})"};
  shell sh{api.url()};
  for (const char* uses :
       {"0", "-1", "10001", "010", "0x10", "1.0", "1e3", "+5", " 5", "",
        "99999999999999999999", "9223372036854775808"}) {
    CAPTURE(uses);
    auto got = sh.run(create({std::string{"--max-uses="} + uses}));
    CHECK(got.exit_code == cli::usage);
    CHECK(api.calls() == 0);
  }
  CHECK(sh.run(create({"--max-uses", "10000"})).exit_code == cli::done);
  CHECK(api.last().body.find(R"("maxUses":10000)") != std::string::npos);
}

TEST_CASE("arguments: no message repeats a token or credential (cases 4, 170)",
          "[ops][arguments]") {
  recorder api{200, "{}"};
  shell sh{api.url()};
  auto token = "bcjt_jt_" + std::string(26, '0') + "." + secret;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"join-tokens", "revoke", token, "--pool", "pool_x"},
           {"join-tokens", "revoke", "jt_1", token, "--pool", "pool_x"},
           create({token}),
           create({"--output", token}),
           create({"--credential-file", credential}),
           {"nodes", "list", credential}}) {
    CAPTURE(words.size());
    auto got = sh.run(words);
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("better-compute: INVALID_INPUT: ") == 0);
    CHECK((got.err + got.out).find(secret) == std::string::npos);
  }
  CHECK(api.calls() == 0);
}

TEST_CASE("arguments: a field the server names is shown once",
          "[ops][arguments]") {
  recorder api{400,
               R"({"error":{"code":"INVALID_INPUT","message":"/poolId is bad",)"
               R"("details":[{"path":"/poolId","message":"is bad"}],)"
               R"("requestId":"req_1"}})"};
  shell sh{api.url()};
  auto got = sh.run(create());
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err == "better-compute: INVALID_INPUT: /poolId is bad\n");
}

TEST_CASE("arguments: a file named here wins over the environment's credential",
          "[ops][arguments]") {
  recorder api{200, R"({"items":[]})"};
  shell sh{api.url()};
  auto write = [&](const char* name, char fill) {
    auto file = sh.folder + "/" + name;
    std::ofstream{file} << std::string(8, fill) << "\n";
    ::chmod(file.c_str(), 0600);
    return file;
  };
  auto asked = write("asked", 'a');
  auto carried = write("carried", 'c');
  ::setenv("BETTER_COMPUTE_CREDENTIAL_FILE", carried.c_str(), 1);
  auto used = [&](std::vector<std::string> words) {
    CHECK(sh.run(std::move(words)).exit_code == cli::done);
    return api.last().headers["authorization"];
  };
  CHECK(used({"nodes", "list", "--credential-file", asked}) ==
        "Bearer aaaaaaaa");
  CHECK(used({"nodes", "list"}) == "Bearer " + credential);
  ::unsetenv("BETTER_COMPUTE_CREDENTIAL");
  CHECK(used({"nodes", "list"}) == "Bearer cccccccc");
  ::unsetenv("BETTER_COMPUTE_CREDENTIAL_FILE");
  auto none = sh.run({"nodes", "list"});
  CHECK(none.exit_code == cli::usage);
  CHECK(none.err.find("UNAUTHENTICATED") != std::string::npos);
}

TEST_CASE("arguments: pki without its secret is a usage error each time",
          "[ops][arguments]") {
  shell sh{""};
  auto bundle = sh.folder + "/bundle";
  ::unsetenv("BETTER_COMPUTE_SECRET");
  for (auto words : std::vector<std::vector<std::string>>{
           {"pki", "init", "--trust-domain", "a.example"},
           {"pki", "show"},
           {"pki", "issue-gateway", "--name", "gw.example.com", "--out-dir",
            bundle + ".gateway"}}) {
    words.insert(words.end(), {"--bundle", bundle});
    auto got = sh.run_alone(words);
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("BETTER_COMPUTE_SECRET") != std::string::npos);
  }
  CHECK_FALSE(fs::exists(bundle));
}

TEST_CASE("arguments: issue-gateway leaves every file or none, and says so",
          "[ops][arguments]") {
  shell sh{""};
  auto bundle = sh.folder + "/bundle";
  auto made = sh.folder + "/gateway";
  ::setenv("BETTER_COMPUTE_SECRET", "0123456789abcdef", 1);
  REQUIRE(sh.run_alone({"pki", "init", "--trust-domain", "a.example",
                        "--bundle", bundle})
              .exit_code == cli::done);
  std::vector<std::string> issue{
      "pki",  "issue-gateway", "--name", "gw.example.com", "--bundle",
      bundle, "--out-dir",     made,     "--output",       "json"};
  std::ofstream{made} << "mine";
  CHECK(sh.run_alone(issue).exit_code == cli::refused);
  CHECK(fs::is_regular_file(made));
  fs::remove(made);
  auto got = sh.run_alone(issue);
  CHECK(got.exit_code == cli::done);
  auto said = json::parse_object(got.out);
  REQUIRE(said);
  CHECK(json::reader{said.value()}.text("servingKeyFile").value() ==
        made + "/serving.key");
  for (const auto* name : {"serving.crt", "serving.key", "internal.crt",
                           "internal.key", "internal-ca.crt", "node-ca.crt"}) {
    auto path = fs::path{made} / name;
    auto mode = path.extension() == ".key" ? 0600 : 0644;
    CHECK(fs::status(path).permissions() == static_cast<fs::perms>(mode));
  }
  CHECK(fs::status(made).permissions() == fs::perms::owner_all);
  ::setenv("BETTER_COMPUTE_SECRET", "0123456789abcdeX", 1);
  auto wrong = sh.run_alone({"pki", "show", "--bundle", bundle});
  CHECK(wrong.exit_code == cli::refused);
  CHECK(wrong.err.find("does not open") != std::string::npos);
  ::unsetenv("BETTER_COMPUTE_SECRET");
}

TEST_CASE("arguments: issue-gateway names its folder after the first name",
          "[ops][arguments]") {
  shell sh{""};
  const auto here = fs::current_path();
  auto bundle = sh.folder + "/bundle";
  ::setenv("BETTER_COMPUTE_SECRET", "0123456789abcdef", 1);
  REQUIRE(sh.run_alone({"pki", "init", "--trust-domain", "a.example",
                        "--bundle", bundle})
              .exit_code == cli::done);
  fs::current_path(sh.folder);
  const std::vector<std::string> issue{
      "pki",   "issue-gateway", "--san",    "gw.eu.example.com",
      "--san", "192.0.2.7",     "--bundle", bundle};
  auto got = sh.run_alone(issue);
  CHECK(got.exit_code == cli::done);
  CHECK(got.out.find("gw.eu.example.com/serving.key") != std::string::npos);
  const auto made = fs::path{sh.folder} / "gw.eu.example.com";
  CHECK(fs::exists(made / "internal.key"));
  // A second one would be another gateway's.
  auto again = sh.run_alone(issue);
  CHECK(again.exit_code == cli::refused);
  CHECK(again.err.find("ALREADY_EXISTS") != std::string::npos);
  // Nothing that could lead out of the folder is a name.
  for (const char* name : {"..", ".", "../gw", "/tmp/gw", "a/b", ""})
    CHECK(sh.run_alone(
                {"pki", "issue-gateway", "--san", name, "--bundle", bundle})
              .exit_code == cli::usage);
  fs::current_path(here);
  ::unsetenv("BETTER_COMPUTE_SECRET");
}

TEST_CASE("arguments: the environment counts for the settings a command needs",
          "[ops][arguments]") {
  shell sh{""};
  variable not_needed{"BETTER_COMPUTE_API_PORT", "no number"};
  variable over{"BETTER_COMPUTE_KAFKA_PARTITIONS", "0"};
  for (const char* command : {"verify", "resume"}) {
    auto got = sh.run_alone({"events", command, "--kafka-partitions", "1"});
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("BETTER_COMPUTE_KAFKA_PARTITIONS must be") !=
          std::string::npos);
    CHECK(got.err.find("API_PORT") == std::string::npos);
  }
}

TEST_CASE("arguments: doctor --kafka is in place of the brokers alone",
          "[ops][arguments]") {
  shell sh{""};
  auto file = sh.folder + "/serve.toml";
  std::ofstream{file} << "[kafka]\nbrokers = \"127.0.0.1:2\"\n"
                         "[kafka.properties]\n"
                         "\"security.protocol\" = \"pigeon\"\n";
  auto got = sh.run_alone({"doctor", "--config", file, "--kafka", "127.0.0.1:1",
                           "--output", "json"});
  CHECK(got.exit_code == cli::refused);
  CHECK(got.out.find("security.protocol") != std::string::npos);
}
