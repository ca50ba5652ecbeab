// spec: DESIGN section 10 and 11: each method of the API is a command.
#include "ops/cli/api_command.hpp"

#include "ops/cli/api_groups.hpp"
#include "tests/support/cli_shell.hpp"

#include <filesystem>
#include <map>
#include <set>

namespace fs = std::filesystem;
using namespace bc;
using testing::recorder;
using testing::shell;

namespace {

using schema = std::shared_ptr<json::document>;

// What the commands say in a way of their own.
const std::set<std::string> by_itself{"tenantId", "limit", "cursor"};

std::map<std::string, schema> all_schemas() {
  std::map<std::string, schema> out;
  for (const auto& file :
       fs::directory_iterator{fs::path{BC_SOURCE_DIR} / "schema/api"}) {
    if (file.path().extension() != ".json")
      continue;
    auto read = json::parse_object(read_text(file.path()));
    REQUIRE(read);
    out[file.path().stem().string()] =
        std::make_shared<json::document>(std::move(read).value());
  }
  return out;
}

// The part of a schema that a dotted field names; null: it has none.
const json::value* at_field(const json::value& object, std::string field) {
  const json::value* at = &object;
  while (true) {
    const auto dot = field.find('.');
    const auto name = field.substr(0, dot);
    if (!at->HasMember("properties") ||
        !(*at)["properties"].HasMember(name.c_str()))
      return nullptr;
    at = &(*at)["properties"][name.c_str()];
    if (dot == std::string::npos)
      return at;
    field = field.substr(dot + 1);
  }
}

std::string type_of(const json::value& v) {
  if (v.IsArray())
    return "array";
  if (v.IsObject())
    return "object";
  if (v.IsBool())
    return "boolean";
  return v.IsString() ? "string" : "integer";
}

// A text that the argument takes.

std::string sample_of(const cli::argument& a, const std::string& file) {
  if (!a.choices.empty())
    return a.choices.front();
  if (a.value_name == "NUMBER")
    return "3";
  if (a.value_name == "DURATION" || a.value_name == "TIME")
    return "1h";
  if (a.value_name == "FILE")
    return file;
  return a.name == "--grant" ? "compute:*@*" : "x";
}

void collect_fields(const json::value& object, const std::string& prefix,
                    std::set<std::string>& out) {
  for (const auto& p : object["properties"].GetObject()) {
    const auto name = prefix + p.name.GetString();
    if (p.value.HasMember("properties"))
      collect_fields(p.value, name + ".", out);
    else if (by_itself.count(name) == 0)
      out.insert(name);
  }
}

std::string method_of(const cli::api_group& g, const cli::api_command& c) {
  return cli::api_name(g.name) + "." + cli::api_name(c.name);
}

}  // namespace

TEST_CASE("api_command: every method is a command and the other way round",
          "[ops][api-command]") {
  // These have commands of their own.
  std::set<std::string> methods,
      commands{"events.list", "joinRequests.approve", "joinRequests.reject",
               "nodes.revokeByToken"};
  for (const auto& [name, s] : all_schemas())
    methods.insert(name);
  for (const auto& group : cli::api_groups())
    for (const auto& command : group.commands)
      commands.insert(method_of(group, command));
  CHECK(commands == methods);
}

TEST_CASE("api_command: every field of an input is an argument, of its type",
          "[ops][api-command]") {
  temporary_folder dir;
  const auto file = (dir / "object.json").string();
  write_text(file, "{}");
  const auto schemas = all_schemas();
  for (const auto& group : cli::api_groups())
    for (const auto& command : group.commands) {
      const auto name = method_of(group, command);
      CAPTURE(name);
      const auto& input = *schemas.at(name);
      std::set<std::string> wanted, had;
      collect_fields(input, "", wanted);
      for (const auto& a : command.arguments) {
        CAPTURE(a.name);
        const auto* field = at_field(input, a.field);
        REQUIRE(field != nullptr);
        json::document body;
        body.SetObject();
        REQUIRE(a.put(body, {sample_of(a, file)}));
        CHECK(type_of(cli::member_at(body, a.field)) ==
              (*field)["type"].GetString());
        const auto& values =
            field->HasMember("items") ? (*field)["items"] : *field;
        std::vector<std::string> choices;
        if (values.HasMember("enum"))
          for (const auto& v : values["enum"].GetArray())
            choices.emplace_back(v.GetString());
        CHECK(a.choices == choices);
        had.insert(a.field);
      }
      for (const auto& field : wanted) {
        INFO(field << " has no argument");
        CHECK(had.count(field) == 1);
      }
      for (const auto& required : input["required"].GetArray())
        for (const auto& a : command.arguments)
          if (a.field == required.GetString() && a.field != "claims") {
            INFO(a.name << " must be required");
            CHECK(a.required);
          }
    }
}

TEST_CASE("api_command: what is called and sent", "[ops][api-command]") {
  recorder api{200, R"({"id":"x"})"};
  shell sh{api.url()};
  struct row {
    std::vector<std::string> words;
    std::string path, body;
  };
  for (const auto& r : std::vector<row>{
           {{"nodes", "cordon", "node_1", "--reason", "a \"b\""},
            "nodes/cordon",
            R"({"tenantId":"ten_x","nodeId":"node_1","reason":"a \"b\""})"},
           {{"nodes", "revoke-identity", "node_1", "--yes"},
            "nodes/revokeIdentity",
            R"({"tenantId":"ten_x","nodeId":"node_1"})"},
           {{"pools", "update", "pool_1", "--join-attestor", "tpm",
             "--join-attestor", "x509pop", "--platform-operated"},
            "pools/update",
            R"({"tenantId":"ten_x","poolId":"pool_1","policy":{)"
            R"("joinAttestors":["tpm","x509pop"],)"
            R"("kubernetes":{"platformOperated":true}}})"},
           {{"pools", "update", "pool_1", "--no-policy"},
            "pools/update",
            R"({"tenantId":"ten_x","poolId":"pool_1","policy":{}})"},
           {{"site-tokens", "create", "--site", "site_1", "--ttl", "1h30m",
             "--key", "k", "--max-uses", "16"},
            "siteTokens/create",
            R"({"tenantId":"ten_x","siteId":"site_1","ttlSeconds":5400,)"
            R"("maxUses":16,"idempotencyKey":"k"})"},
           {{"site-tokens", "revoke", "jt_1", "--site", "site_1"},
            "siteTokens/revoke",
            R"({"tenantId":"ten_x","tokenId":"jt_1","siteId":"site_1"})"},
           {{"credentials", "create", "--principal", "p", "--grant", "a@b",
             "--grant", "c@d"},
            "credentials/create",
            R"({"tenantId":"ten_x","principal":"p","grants":[)"
            R"({"action":"a","resource":"b"},{"action":"c","resource":"d"}]})"},
           {{"joins", "explain", "abc"},
            "joins/explain",
            R"({"tenantId":"ten_x","csrSha256":"abc"})"}}) {
    auto got = sh.run(r.words);
    INFO(got.err);
    CHECK(got.exit_code == cli::done);
    CHECK(api.last().path == "/api/compute/" + r.path);
    CHECK(api.last().body == r.body);
  }
}

TEST_CASE("api_command: claims come from a file, flags over it",
          "[ops][api-command]") {
  recorder api{200, R"({"outcome":"joined"})"};
  shell sh{api.url()};
  const auto file = sh.folder + "/claims.json";
  write_text(file, R"({"productSerial":"A","hostname":"h"})");
  CHECK(sh.run({"joins", "simulate", "--token", "jt_1", "--claims", file,
                "--serial", "B", "--mac", "aa:bb:cc:dd:ee:ff"})
            .exit_code == cli::done);
  CHECK(api.last().body ==
        R"({"tenantId":"ten_x","tokenId":"jt_1","claims":{)"
        R"("productSerial":"B","hostname":"h","macs":["aa:bb:cc:dd:ee:ff"]}})");
  write_text(file, "[1]");
  const auto before = api.calls();
  auto got = sh.run({"joins", "simulate", "--token", "jt_1", "--claims", file});
  CHECK(got.exit_code == cli::usage);
  CHECK(got.err.find(file) != std::string::npos);
  CHECK(api.calls() == before);
}

TEST_CASE("api_command: a whole token is never sent as an id (case 4)",
          "[ops][api-command]") {
  recorder api{200, "{}"};
  shell sh{api.url()};
  const auto token =
      "bcjt_jt_" + std::string(26, '0') + "." + testing::cli_secret;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"join-tokens", "revoke", token, "--pool", "pool_x"},
           {"site-tokens", "revoke", token, "--site", "site_x"},
           {"joins", "simulate", "--token", token},
           {"joins", "simulate", "--token",
            testing::cli_secret + "." + testing::cli_secret},
           {"credentials", "revoke", testing::cli_credential}}) {
    auto got = sh.run(words);
    CHECK(got.exit_code == cli::usage);
    CHECK((got.err + got.out).find(testing::cli_secret) == std::string::npos);
  }
  CHECK(api.calls() == 0);
}

TEST_CASE("api_command: what cannot be taken back needs --yes in a script",
          "[ops][api-command]") {
  recorder api{200, R"({"id":"x"})"};
  shell sh{api.url()};
  std::size_t asked = 0;
  for (const auto& group : cli::api_groups())
    for (const auto& command : group.commands) {
      if (command.question.empty())
        continue;
      ++asked;
      auto got = sh.run({group.name, command.name, "node_1"});
      CHECK(got.exit_code == cli::usage);
      CHECK(got.err.find("--yes") != std::string::npos);
    }
  CHECK(asked == 4);
  CHECK(api.calls() == 0);
}

TEST_CASE("api_command: lifetimes are judged before any call (cases 21, 172)",
          "[ops][api-command]") {
  recorder api{200, R"({"id":"jt_1","token":"bcjt_jt_1.x"})"};
  shell sh{api.url()};
  auto create = [&](const std::string& ttl) {
    return sh
        .run({"join-tokens", "create", "--pool", "pool_x", "--key", "k",
              "--ttl=" + ttl})
        .exit_code;
  };
  for (const char* bad :
       {"0s", "59s", "24h1s", "1d", "90", "1.5h", "-1h", "1h-30m",
        "9999999999h", " 1h", "1H", "1µs", "60000ms", ""})
    CHECK(create(bad) == cli::usage);
  CHECK(api.calls() == 0);
  for (const char* good : {"60s", "1m", "24h", "1440m", "86400s", "1h30m"})
    CHECK(create(good) == cli::done);
}

TEST_CASE("api_command: --limit stops, and says that there is more",
          "[ops][api-command]") {
  int page = 0;
  recorder api{[&](const gateway::http_request& request) {
    // As many as asked for, always with more behind.
    auto input = json::parse_object(request.body);
    const auto limit = json::reader{input.value()}.integer("limit").value();
    std::string items;
    for (std::int64_t i = 0; i < limit; ++i)
      items += std::string{i == 0 ? "" : ","} + R"({"id":"x"})";
    ++page;
    return std::pair{200, R"({"items":[)" + items + R"(],"cursor":"next-)" +
                              std::to_string(page) + "\"}"};
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "list", "--limit", "450", "--output", "json"});
  CHECK(api.calls() == 3);
  auto answer = json::parse_object(got.out);
  REQUIRE(answer);
  CHECK(answer.value()["items"].Size() == 450);
  CHECK(json::reader{answer.value()}.text("cursor").value() == "next-3");
  auto table = sh.run({"audit", "list", "--cursor", "before"});
  CHECK(api.last().body.find(R"("limit":100,"cursor":"before")") !=
        std::string::npos);
  CHECK(table.err.find("--cursor next-4") != std::string::npos);
}

TEST_CASE("api_command: pages that go round end in an error",
          "[ops][api-command]") {
  // a, b, a, b, …
  recorder api{[](const gateway::http_request& request) {
    const bool at_a = request.body.find(R"("cursor":"a")") != std::string::npos;
    return std::pair{200, std::string{R"({"items":[{"id":"x"}],"cursor":")"} +
                              (at_a ? "b" : "a") + "\"}"};
  }};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "list"});
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err.find("better-compute: INTERNAL: ") == 0);
  CHECK(got.out.empty());
  CHECK(api.calls() == 3);
  CHECK(sh.run({"nodes", "list", "--cursor", "a"}).exit_code == cli::refused);
  CHECK(sh.run({"nodes", "list", "--limit", "2"}).exit_code == cli::done);
}

TEST_CASE("api_command: a key that was used shows no secret, and says so",
          "[ops][api-command]") {
  recorder api{200, R"({"id":"jt_1","usesLeft":1})"};
  shell sh{api.url()};
  const std::vector<std::string> create{
      "join-tokens", "create", "--pool", "pool_x", "--ttl", "1h", "--key", "k"};
  const std::string said =
      "this --key was used before, so its token cannot be shown again; revoke "
      "jt_1 and create another with another --key\n";
  for (const char* output : {"table", "json"}) {
    auto words = create;
    words.insert(words.end(), {"--output", output});
    auto got = sh.run(words);
    CHECK(got.exit_code == cli::done);
    CHECK(got.out.find("jt_1") != std::string::npos);
    CHECK(got.err == "better-compute: " + said);
  }
  auto words = create;
  words.insert(words.end(), {"--out", sh.folder + "/token"});
  auto got = sh.run(words);
  CHECK(got.exit_code == cli::refused);
  CHECK(got.err == "better-compute: INVALID_STATE: " + said);
  CHECK_FALSE(fs::exists(sh.folder + "/token"));

  recorder fresh{200, R"({"id":"jt_1","token":"bcjt_jt_1.x"})"};
  shell other{fresh.url()};
  CHECK(other.run(create).err.empty());
}

TEST_CASE("api_command: arguments that do not go together are named",
          "[ops][api-command]") {
  recorder api{200, R"({"id":"x","outcome":"joined"})"};
  shell sh{api.url()};
  struct row {
    std::vector<std::string> words;
    std::string said;
  };
  for (const auto& r : std::vector<row>{
           {{"joins", "simulate", "--token", "jt_1"}, "--claims FILE"},
           {{"joins", "simulate", "--token", "jt_1", "--site", "site_1"},
            "--serial"},
           {{"pools", "update", "pool_1", "--no-policy", "--join-attestor",
             "tpm"},
            "--no-policy stands alone"},
           {{"pools", "update", "pool_1", "--platform-operated", "--no-policy"},
            "--no-policy stands alone"},
           {{"audit", "list", "--since", "999999999h"},
            "--since goes back to before 1970"},
           {{"audit", "list", "--until", "600000h"},
            "--until goes back to before 1970"}}) {
    auto got = sh.run(r.words);
    CHECK(got.exit_code == cli::usage);
    CHECK(got.err.find("better-compute: INVALID_INPUT: ") == 0);
    INFO(got.err);
    CHECK(got.err.find(r.said) != std::string::npos);
  }
  CHECK(api.calls() == 0);
  CHECK(sh.run({"joins", "simulate", "--token", "jt_1", "--hostname", "h"})
            .exit_code == cli::done);
  CHECK(sh.run({"pools", "update", "pool_1", "--no-policy", "--name", "n"})
            .exit_code == cli::done);
}

TEST_CASE("api_command: a server's message is one line", "[ops][api-command]") {
  recorder api{400, R"({"error":{"code":"INVALID_INPUT","message":)"
                    R"("no\nbetter-compute: run this\r\n\u2028or that"}})"};
  shell sh{api.url()};
  auto got = sh.run({"nodes", "list"});
  CHECK(got.err ==
        "better-compute: INVALID_INPUT: no\\x0abetter-compute: run "
        "this\\x0d\\x0a\\u2028or that\n");
}

TEST_CASE("api_command: a server's text does not write to the terminal",
          "[ops][api-command]") {
  const std::string hostile = R"(\u001b[2J\u202e\u009b31m)";
  recorder fails{400, R"({"error":{"code":"INVALID_INPUT","message":")" +
                          hostile + R"(","requestId":"r"}})"};
  recorder lists{200,
                 R"({"items":[{"id":"n","hostname":")" + hostile + R"("}]})"};
  shell sh{lists.url()};
  auto is_clean = [](const std::string& text) {
    return text.find('\x1b') == std::string::npos &&
           text.find("\xc2\x9b") == std::string::npos &&
           text.find("\u202e") == std::string::npos;
  };
  for (const char* output : {"table", "json"}) {
    auto got = sh.run({"nodes", "list", "--output", output});
    CHECK(got.exit_code == cli::done);
    CHECK(is_clean(got.out));
  }
  shell other{fails.url()};
  auto got = other.run({"nodes", "list"});
  CHECK(is_clean(got.err));
  CHECK(got.err.find("\\x1b[2J") != std::string::npos);
}
