#include "schema/embedded.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

/// One field set to a raw value (empty: left out); `path` empty: accepted by
/// the schema.
struct row {
  std::string field;
  std::string raw;
  std::string path;
};

std::string text_of(std::size_t size) {
  return json_string(std::string(size, 'a'));
}

void try_rows(api_world& w, const std::string& key, const std::string& method,
              const fields& good, const std::vector<row>& rows) {
  for (const auto& r : rows) {
    INFO(method << " " << r.field << " = " << r.raw.substr(0, 80));
    auto before = w.position();
    auto got = w.call(key, method, with(good, r.field, r.raw));
    INFO(got.text);
    if (r.path.empty()) {
      CHECK(got.code() != "INVALID_INPUT");
      continue;
    }
    CHECK(got.status == 400);
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.path() == r.path);
    CHECK(w.position() == before);
  }
}

// What every method refuses of its own fields.
std::vector<row> rows_for(const std::string& field) {
  auto path = "/" + field;
  if (field == "tenantId" || field == "forTenantId")
    return {{field, "7", path},       {field, "null", path},
            {field, "\"\"", path},    {field, text_of(129), path},
            {field, "\"a b\"", path}, {field, "\"a\\n\"", path},
            {field, text_of(128), ""}};
  if (field == "poolId")
    return {{field, "7", path},        {field, "[]", path},
            {field, "\".a\"", path},   {field, text_of(129), path},
            {field, "\"a*\"", path},   {field, "\"\"", path},
            {field, text_of(128), ""}, {field, "\"rack:b7.u_12\"", ""}};
  if (field == "siteId" || field == "nodeId" || field == "tokenId" ||
      field == "credentialId" || field == "requestId" || field == "commandId") {
    auto prefix = field == "tokenId"        ? std::string{"jt_"}
                  : field == "requestId"    ? std::string{"jreq_"}
                  : field == "commandId"    ? std::string{"cmd_"}
                  : field == "credentialId" ? std::string{"bck_"}
                  : field == "siteId"       ? std::string{"site_"}
                                            : std::string{"node_"};
    return {{field, "7", path},
            {field, json_string(prefix + std::string(25, '0')), path},
            {field, json_string(prefix + std::string(53, '0')), path},
            {field, json_string(prefix + std::string(26, 'u')), path},
            {field, json_string(prefix + std::string(26, 'A')), path},
            {field, json_string("x" + prefix + std::string(26, '0')), path},
            {field, json_string(prefix + std::string(26, '0') + "\n"), path},
            {field, json_string(prefix + std::string(26, '0')), ""},
            {field, json_string(prefix + std::string(52, 'z')), ""}};
  }
  if (field == "name")
    return {{field, "true", path},    {field, "\"\"", path},
            {field, "\" a\"", path},  {field, text_of(64), path},
            {field, "\"a/b\"", path}, {field, "\"\xc3\xa9\"", path},
            {field, text_of(63), ""}, {field, "\"Rack b7-u12\"", ""}};
  if (field == "limit")
    return {{field, "0", path},    {field, "201", path},
            {field, "-1", path},   {field, "1.0", path},
            {field, "1e1", path},  {field, "\"1\"", path},
            {field, "null", path}, {field, "18446744073709551617", path},
            {field, "1", ""},      {field, "200", ""}};
  return {};
}

void try_common(api_world& w, const std::string& key, const std::string& method,
                const fields& good, const std::vector<std::string>& names,
                const std::vector<std::string>& required) {
  INFO(method);
  auto fine = w.call(key, method, good);
  INFO(fine.text);
  CHECK(fine.status == 200);
  for (const auto& name : names)
    try_rows(w, key, method, good, rows_for(name));
  for (const auto& name : required)
    try_rows(w, key, method, good, {{name, "", "/" + name}});
  try_rows(w, key, method, good,
           {{"surprise", "1", "/surprise"}, {"a/b", "1", "/a~1b"}});
}

}  // namespace

TEST_CASE("api inputs: every schema compiles with its patterns in force") {
  int patterns = 0;
  for (const auto& file : schema::files) {
    if (!file.name.starts_with("api/") || file.name.starts_with("api/answers/"))
      continue;
    INFO(file.name);
    auto doc = json::parse_object(file.text);
    REQUIRE(doc);
    CHECK(doc.value()["additionalProperties"].IsFalse());
    for (const auto& property : doc.value()["properties"].GetObject()) {
      const auto& rule = property.value;
      if (!rule.HasMember("pattern"))
        continue;
      ++patterns;
      CHECK(rule.HasMember("maxLength"));
      CHECK_NOTHROW(std::regex{rule["pattern"].GetString()});
    }
  }
  CHECK(patterns > 30);
}

TEST_CASE("api inputs: fields that every list, get and create share") {
  api_world w;
  auto tenant = json_string(w.acme.str());
  auto pool = json_string(w.pool.str());
  auto site = json_string(w.site.str());
  auto& key = w.acme_key;
  auto node = w.join(w.add_token(w.acme, w.pool, w.site)).id.str();

  try_common(w, w.root_key, "tenants.create",
             {{"tenantId", json_string(w.root.str())}, {"name", "\"t\""}},
             {"tenantId", "name"}, {"tenantId", "name"});
  try_common(w, w.root_key, "tenants.list",
             {{"tenantId", json_string(w.root.str())}}, {"tenantId", "limit"},
             {"tenantId"});
  try_common(w, key, "sites.create", {{"tenantId", tenant}, {"name", "\"s\""}},
             {"tenantId", "name"}, {"tenantId", "name"});
  try_common(w, key, "sites.update",
             {{"tenantId", tenant}, {"siteId", site}, {"name", "\"s2\""}},
             {"tenantId", "siteId", "name"}, {"tenantId", "siteId"});
  try_common(
      w, key, "sites.delete",
      {{"tenantId", tenant}, {"siteId", json_string(w.add_site(w.acme).str())}},
      {"tenantId", "siteId"}, {"tenantId", "siteId"});
  try_common(w, key, "pools.update",
             {{"tenantId", tenant}, {"poolId", pool}, {"name", "\"p2\""}},
             {"tenantId", "poolId", "name"}, {"tenantId", "poolId"});
  try_common(w, key, "pools.archive",
             {{"tenantId", tenant},
              {"poolId", json_string(w.add_pool(w.acme, w.site).str())}},
             {"tenantId", "poolId"}, {"tenantId", "poolId"});
  try_common(w, key, "siteTokens.create",
             {{"tenantId", tenant},
              {"siteId", site},
              {"ttlSeconds", "60"},
              {"idempotencyKey", "\"common\""}},
             {"tenantId"},
             {"tenantId", "siteId", "ttlSeconds", "idempotencyKey"});
  try_common(w, key, "siteTokens.revoke",
             {{"tenantId", tenant},
              {"siteId", site},
              {"tokenId", json_string(w.add_site_token(w.acme, w.site).str())}},
             {"tenantId", "siteId", "tokenId"},
             {"tenantId", "siteId", "tokenId"});
  try_common(w, key, "sites.get", {{"tenantId", tenant}, {"siteId", site}},
             {"tenantId", "siteId"}, {"tenantId", "siteId"});
  try_common(w, key, "sites.list", {{"tenantId", tenant}},
             {"tenantId", "limit"}, {"tenantId"});
  try_common(w, key, "pools.create",
             {{"tenantId", tenant}, {"siteId", site}, {"name", "\"p\""}},
             {"tenantId", "siteId", "name"}, {"tenantId", "siteId", "name"});
  try_common(w, key, "pools.get", {{"tenantId", tenant}, {"poolId", pool}},
             {"tenantId", "poolId"}, {"tenantId", "poolId"});
  try_common(w, key, "pools.list", {{"tenantId", tenant}},
             {"tenantId", "limit"}, {"tenantId"});
  try_common(w, key, "credentials.create",
             {{"tenantId", tenant},
              {"principal", "\"bob\""},
              {"grants", R"([{"action":"*","resource":"*"}])"}},
             {"tenantId", "forTenantId"}, {"tenantId", "principal", "grants"});
  try_common(w, key, "joinTokens.list",
             {{"tenantId", tenant}, {"poolId", pool}},
             {"tenantId", "poolId", "limit"}, {"tenantId", "poolId"});
  auto made = w.call(key, "joinTokens.create", w.token_input("revoke-me"));
  try_common(w, key, "joinTokens.revoke",
             {{"tenantId", tenant},
              {"poolId", pool},
              {"tokenId", json_string(made.at("/id"))}},
             {"tenantId", "poolId", "tokenId"},
             {"tenantId", "poolId", "tokenId"});
  try_common(w, key, "joinRequests.list",
             {{"tenantId", tenant}, {"poolId", pool}},
             {"tenantId", "poolId", "limit"}, {"tenantId", "poolId"});
  for (const std::string decision : {"approve", "reject"}) {
    auto waiting = test::id_of(test::defer_now(
        w.streams, test::order_of(w.acme, w.site, decision, w.random.hex())));
    fields of_request{{"tenantId", tenant},
                      {"poolId", pool},
                      {"requestId", json_string(waiting.str())}};
    try_common(w, key, "joinRequests." + decision, of_request,
               {"tenantId", "poolId", "requestId"},
               {"tenantId", "poolId", "requestId"});
    if (decision == "reject")
      continue;
    const auto csr = std::string(64, 'a');
    try_rows(w, key, "joinRequests.approve", of_request,
             {{"ttlSeconds", "59", "/ttlSeconds"},
              {"ttlSeconds", "86401", "/ttlSeconds"},
              {"ttlSeconds", "900.0", "/ttlSeconds"},
              {"ttlSeconds", "\"900\"", "/ttlSeconds"},
              {"ttlSeconds", "null", "/ttlSeconds"},
              {"ttlSeconds", "60", ""},
              {"ttlSeconds", "86400", ""},
              {"csrSha256", "7", "/csrSha256"},
              {"csrSha256", "\"\"", "/csrSha256"},
              {"csrSha256", json_string(csr + "a"), "/csrSha256"},
              {"csrSha256", json_string(std::string(64, 'A')), "/csrSha256"},
              {"csrSha256", json_string(csr), ""}});
  }
  for (const auto& [state, at] :
       std::map<std::string, std::string>{{"\"pending\"", ""},
                                          {"\"approved\"", ""},
                                          {"\"rejected\"", ""},
                                          {"\"expired\"", ""},
                                          {"\"consumed\"", ""},
                                          {"\"all\"", ""},
                                          {"\"Pending\"", "/state"},
                                          {"\"\"", "/state"},
                                          {"null", "/state"},
                                          {"[\"all\"]", "/state"}})
    try_rows(w, key, "joinRequests.list",
             {{"tenantId", tenant}, {"poolId", pool}}, {{"state", state, at}});
  try_common(w, key, "nodes.list", {{"tenantId", tenant}},
             {"tenantId", "poolId", "limit"}, {"tenantId"});
  try_common(w, key, "nodes.get",
             {{"tenantId", tenant}, {"nodeId", json_string(node)}},
             {"tenantId", "nodeId"}, {"tenantId", "nodeId"});
  for (const std::string change : {"adopt", "cordon", "revokeIdentity"})
    try_common(w, key, "nodes." + change,
               {{"tenantId", tenant}, {"nodeId", json_string(node)}},
               {"tenantId", "nodeId"}, {"tenantId", "nodeId"});
  try_common(
      w, key, "nodes.revokeByToken",
      {{"tenantId", tenant},
       {"tokenId", json_string(w.add_token(w.acme, w.pool, w.site).id.str())}},
      {"tenantId", "tokenId", "limit"}, {"tenantId", "tokenId"});
  const fields ping{{"tenantId", tenant},
                    {"nodeId", json_string(node)},
                    {"kind", "\"ping\""},
                    {"idempotencyKey", "\"p\""}};
  try_common(w, key, "commands.enqueue", ping, {"tenantId", "nodeId"},
             {"tenantId", "nodeId", "kind", "idempotencyKey"});
  try_common(w, key, "commands.list",
             {{"tenantId", tenant}, {"nodeId", json_string(node)}},
             {"tenantId", "nodeId", "limit"}, {"tenantId", "nodeId"});
  auto of_command =
      with(ping, "commandId",
           json_string(w.call(key, "commands.enqueue", ping).at("/id")));
  of_command.erase("kind");
  of_command.erase("idempotencyKey");
  try_common(w, key, "commands.get", of_command,
             {"tenantId", "nodeId", "commandId"},
             {"tenantId", "nodeId", "commandId"});
  try_common(w, key, "nodes.cordon",
             {{"tenantId", tenant}, {"nodeId", json_string(node)}}, {}, {});
  try_common(w, key, "nodes.delete",
             {{"tenantId", tenant}, {"nodeId", json_string(node)}},
             {"tenantId", "nodeId"}, {"tenantId", "nodeId"});
  try_common(w, key, "audit.list", {{"tenantId", tenant}},
             {"tenantId", "limit"}, {"tenantId"});
  try_common(w, key, "events.list", {{"tenantId", tenant}},
             {"tenantId", "limit"}, {});
  try_common(w, key, "credentials.list", {{"tenantId", tenant}},
             {"tenantId", "forTenantId", "limit"}, {"tenantId"});
  auto ended = w.add_credential(w.acme, "ended", {{"*", "*"}});
  try_common(w, key, "credentials.revoke",
             {{"tenantId", tenant},
              {"credentialId", json_string(ended.substr(0, ended.find('.')))}},
             {"tenantId", "forTenantId", "credentialId"},
             {"tenantId", "credentialId"});
}

TEST_CASE("api inputs: cursors are ids of their own kind") {
  api_world w;
  const std::string zeros(26, '0');
  struct list {
    std::string method;
    std::string prefix;
  };
  for (const auto& l : {list{"tenants.list", "ten_"},
                        {"sites.list", "site_"},
                        {"pools.list", "pool_"},
                        {"nodes.list", "node_"},
                        {"joinTokens.list", "jt_"},
                        {"joinRequests.list", "jreq_"}}) {
    auto key = l.prefix == "ten_" ? w.root_key : w.acme_key;
    fields good{{"tenantId", json_string(l.prefix == "ten_" ? w.root.str()
                                                            : w.acme.str())}};
    if (l.prefix == "jt_" || l.prefix == "jreq_")
      good["poolId"] = json_string(w.pool.str());
    try_rows(
        w, key, l.method, good,
        {{"cursor", "1", "/cursor"},
         {"cursor", "\"\"", "/cursor"},
         {"cursor", json_string("bck_" + zeros), "/cursor"},
         {"cursor", json_string(l.prefix + "i" + zeros), "/cursor"},
         {"cursor", json_string(l.prefix + std::string(61, '0')), "/cursor"},
         {"cursor", json_string(l.prefix + zeros), ""}});
  }
  try_rows(w, w.acme_key, "events.list",
           {{"tenantId", json_string(w.acme.str())}},
           {{"cursor", "1", "/cursor"},
            {"cursor", "\"-1\"", "/cursor"},
            {"cursor", "\"1.5\"", "/cursor"},
            {"cursor", "\"99999999999999999999\"", "/cursor"},
            {"cursor", "\"1000000\"", "/cursor"},
            {"cursor", json_string("inc_" + zeros + "-1"), "/cursor"},
            {"cursor", json_string(w.incarnation() + "-1"), ""},
            {"cursor", "\"0\"", ""},
            {"cursor", "\"head\"", ""},
            {"cursor", "\"tail\"", "/cursor"},
            {"correlation", "7", "/correlation"},
            {"correlation", "\"\"", "/correlation"},
            {"correlation", "\"a b\"", "/correlation"},
            {"correlation", text_of(129), "/correlation"},
            {"correlation", text_of(128), ""},
            {"type", "\"Node.Joined\"", "/type"},
            {"type", "\"no.such\"", "/type"},
            {"type", "\"security.join-token.redeemed\"", "/type"},
            {"type", "\"node.joined\"", ""}});
}

TEST_CASE("api inputs: commands.enqueue to the letter") {
  api_world w;
  auto node = w.join(w.add_token(w.acme, w.pool, w.site)).id.str();
  const auto payload = [](std::size_t size) {
    const std::string frame = "{\"a\":\"\"}";
    return "{\"a\":\"" + std::string(size - frame.size(), 'x') + "\"}";
  };
  std::vector<row> rows = {{"ttlSeconds", "59", "/ttlSeconds"},
                           {"ttlSeconds", "86401", "/ttlSeconds"},
                           {"ttlSeconds", "60.0", "/ttlSeconds"},
                           {"payload", "[]", "/payload"},
                           {"payload", "\"{}\"", "/payload"},
                           {"payload", "null", "/payload"},
                           {"payload", payload(16 * 1024 + 1), "/payload"},
                           {"kind", text_of(65), "/kind"},
                           {"idempotencyKey", "\"\"", "/idempotencyKey"},
                           {"idempotencyKey", text_of(129), "/idempotencyKey"},
                           {"idempotencyKey", "\"a b\"", "/idempotencyKey"}};
  for (auto bad :
       {"", "Ping", "a..b", ".a", "a.", "a_b", "a.*", "-a", "a b", "\xc3\xa9"})
    rows.push_back({"kind", json_string(bad), "/kind"});
  const fields good{{"tenantId", json_string(w.acme.str())},
                    {"nodeId", json_string(node)},
                    {"kind", "\"ping\""},
                    {"idempotencyKey", "\"k\""}};
  try_rows(w, w.acme_key, "commands.enqueue", good, rows);
  try_rows(w, w.acme_key, "commands.enqueue",
           with(good, "kind", "\"acceptance.run\""),
           {{"payload", R"({"checks":[]})", "/payload"}});
  // Its certificate may not let them all in.
  int key = 0;
  for (const auto& [field, raw] :
       std::vector<std::pair<std::string, std::string>>{
           {"ttlSeconds", "60"},
           {"ttlSeconds", "86400"},
           {"payload", payload(16 * 1024)},
           {"kind", "\"a-b.c\""},
           {"kind", text_of(64)}}) {
    auto got = w.call(w.acme_key, "commands.enqueue",
                      with(with(good, field, raw), "idempotencyKey",
                           json_string("k-" + std::to_string(++key))));
    INFO(field << got.text);
    CHECK(got.code() != "INVALID_INPUT");
  }
}

TEST_CASE(
    "api inputs: joinTokens.create to the letter (cases 21, 36, 38, 144)") {
  api_world w;
  auto expect = [](const std::string& inner) { return "{" + inner + "}"; };
  const std::string uuid = "4c4c4544-0042-3510-8051-b7c04f4d3332";
  try_rows(
      w, w.acme_key, "joinTokens.create", w.token_input(),
      {{"ttlSeconds", "", "/ttlSeconds"},
       {"ttlSeconds", "0", "/ttlSeconds"},
       {"ttlSeconds", "59", "/ttlSeconds"},
       {"ttlSeconds", "86401", "/ttlSeconds"},
       {"ttlSeconds", "-1", "/ttlSeconds"},
       {"ttlSeconds", "3600.5", "/ttlSeconds"},
       {"ttlSeconds", "60.0", "/ttlSeconds"},
       {"ttlSeconds", "\"3600\"", "/ttlSeconds"},
       {"ttlSeconds", "1e9", "/ttlSeconds"},
       {"ttlSeconds", "1000000000", "/ttlSeconds"},
       {"ttlSeconds", "null", "/ttlSeconds"},
       {"maxUses", "0", "/maxUses"},
       {"maxUses", "-0", "/maxUses"},
       {"maxUses", "10001", "/maxUses"},
       {"maxUses", "1.0", "/maxUses"},
       {"maxUses", "1e0", "/maxUses"},
       {"maxUses", "1.5", "/maxUses"},
       {"maxUses", "18446744073709551617", "/maxUses"},
       {"maxUses", "4294967297", "/maxUses"},
       {"maxUses", "\"1\"", "/maxUses"},
       {"maxUses", "true", "/maxUses"},
       {"maxUses", "null", "/maxUses"},
       {"allowReclaim", "1", "/allowReclaim"},
       {"allowReclaim", "\"true\"", "/allowReclaim"},
       {"hosted", "\"Kubernetes\"", "/hosted"},
       {"hosted", "\"\"", "/hosted"},
       {"hosted", "true", "/hosted"},
       {"idempotencyKey", "", "/idempotencyKey"},
       {"idempotencyKey", "\"\"", "/idempotencyKey"},
       {"idempotencyKey", "\"a b\"", "/idempotencyKey"},
       {"idempotencyKey", "\"a*\"", "/idempotencyKey"},
       {"idempotencyKey", text_of(129), "/idempotencyKey"},
       {"idempotencyKey", text_of(100'000), "/idempotencyKey"},
       {"expect", "[]", "/expect"},
       {"expect", "null", "/expect"},
       {"expect", "{}", "/expect"},
       {"expect", expect(R"("hostname":"a")"), "/expect/hostname"},
       {"expect", expect(R"("serial":"")"), "/expect/serial"},
       {"expect", expect(R"("serial":"a b")"), "/expect/serial"},
       {"expect", expect(R"("serial":7)"), "/expect/serial"},
       {"expect", expect("\"serial\":" + text_of(129)), "/expect/serial"},
       {"expect", expect(R"("serial":"0123456789")"), "/expect/serial"},
       {"expect", expect(R"("serial":"N/A")"), "/expect/serial"},
       {"expect", expect(R"("serial":"None")"), "/expect/serial"},
       {"expect", expect(R"("productUuid":"4c4c454")"), "/expect/productUuid"},
       {"expect", expect(R"("productUuid":"4c4c4544")"), "/expect/productUuid"},
       {"expect",
        expect(R"("productUuid":"4c4c-45440042-3510-8051-b7c04f4d3332")"),
        "/expect/productUuid"},
       {"expect",
        expect(R"("productUuid":"ffffffff-ffff-ffff-ffff-ffffffffffff")"),
        "/expect/productUuid"},
       {"expect", expect(R"("productUuid":"zc4c4544-0042")"),
        "/expect/productUuid"},
       {"expect", expect(R"("mac":"aa-bb-cc-dd-ee-ff")"), "/expect/mac"},
       {"expect", expect(R"("mac":"aa:bb:cc:dd:ee")"), "/expect/mac"},
       {"expect", expect(R"("mac":"aa:bb:cc:dd:ee:ff:00")"), "/expect/mac"},
       {"expect", expect(R"("gpuUuid":"gpu-4c4c4544")"), "/expect/gpuUuid"},
       {"expect", expect("\"gpuUuid\":\"GPU-" + std::string(65, 'a') + "\""),
        "/expect/gpuUuid"}});
  int n = 0;
  for (const auto& [field, raw] :
       std::vector<std::pair<std::string, std::string>>{
           {"ttlSeconds", "60"},
           {"ttlSeconds", "86400"},
           {"maxUses", "1"},
           {"maxUses", "10000"},
           {"allowReclaim", "false"},
           {"idempotencyKey", json_string("Az09._~:/+=-")},
           {"idempotencyKey", text_of(128)},
           {"expect", expect(R"("serial":"SN-7701")")},
           {"expect", expect("\"productUuid\":\"" + uuid + "\"")},
           {"expect", expect(R"("productUuid":"4C4C454400423510)"
                             R"(8051B7C04F4D3332")")},
           {"expect", expect(R"("mac":"3C:EC:EF:12:34:56")")},
           {"expect", expect(R"("gpuUuid":"GPU-4c4c4544-0042-3510-8051-)"
                             R"(b7c04f4d3332")")}}) {
    INFO(field << " " << raw);
    auto good = w.token_input("good-" + std::to_string(n++));
    auto got = w.call(w.acme_key, "joinTokens.create", with(good, field, raw));
    INFO(got.text);
    CHECK(got.status == 200);
    CHECK(got.has("/token"));
  }
}

TEST_CASE("api inputs: enums, principals and grants") {
  api_world w;
  auto tenant = json_string(w.acme.str());
  try_rows(w, w.acme_key, "sites.create",
           {{"tenantId", tenant}, {"name", "\"s\""}},
           {{"kind", "\"public\"", "/kind"},
            {"kind", "null", "/kind"},
            {"kind", "\"custom\"", ""},
            {"dedicatedTo", "7", "/dedicatedTo"},
            {"dedicatedTo", "\"\"", "/dedicatedTo"},
            {"dedicatedTo", "null", "/dedicatedTo"},
            {"dedicatedTo", tenant, "/dedicatedTo"}});
  try_rows(w, w.acme_key, "pools.create",
           {{"tenantId", tenant},
            {"siteId", json_string(w.site.str())},
            {"name", "\"p\""}},
           {{"agent", "\"BCD\"", "/agent"},
            {"agent", "1", "/agent"},
            {"agent", "\"none\"", ""}});
  for (const auto& [method, input] :
       {std::pair{"pools.create", fields{{"tenantId", tenant},
                                         {"siteId", json_string(w.site.str())},
                                         {"name", "\"q\""}}},
        {"pools.update",
         fields{{"tenantId", tenant}, {"poolId", json_string(w.pool.str())}}}})
    try_rows(
        w, w.acme_key, method, input,
        {{"policy", "[]", "/policy"},
         {"policy", "null", "/policy"},
         {"policy", R"({"more":1})", "/policy/more"},
         {"policy", R"({"joinAttestors":[]})", "/policy/joinAttestors"},
         {"policy", R"({"joinAttestors":"tpm"})", "/policy/joinAttestors"},
         {"policy", R"({"joinAttestors":["tpm","tpm"]})",
          "/policy/joinAttestors/1"},
         {"policy", R"({"joinAttestors":["TPM"]})", "/policy/joinAttestors/0"},
         {"policy", R"({"kubernetes":{"platformOperated":"yes"}})",
          "/policy/kubernetes/platformOperated"},
         {"policy", R"({"kubernetes":{"x":true}})", "/policy/kubernetes/x"},
         {"policy", R"({"acceptance":{"checks":["Burn in"]}})",
          "/policy/acceptance/checks/0"},
         {"policy", R"({"acceptance":{"checks":["a","a"]}})",
          "/policy/acceptance/checks/1"},
         {"policy", R"({"acceptance":{"checks":["burn-in"]}})", ""},
         {"policy", "{}", ""}});
  const std::string one = R"({"action":"*","resource":"*"})";
  std::string many = one;
  for (int i = 0; i < 64; ++i)
    many += "," + one;
  try_rows(
      w, w.acme_key, "credentials.create",
      {{"tenantId", tenant},
       {"principal", "\"bob\""},
       {"grants", "[" + one + "]"}},
      {{"principal", "\"machine\"", "/principal"},
       {"principal", "\"system\"", "/principal"},
       {"principal", "\"\"", "/principal"},
       {"principal", "\"a b\"", "/principal"},
       {"principal", text_of(129), "/principal"},
       {"principal", "\"ci/deploy@acme.example\"", ""},
       {"grants", "[]", "/grants"},
       {"grants", "{}", "/grants"},
       {"grants", "[" + many + "]", "/grants"},
       {"grants", "[" + one + ",7]", "/grants/1"},
       {"grants", R"([{"action":"*"}])", "/grants/0/resource"},
       {"grants", R"([{"action":"*","resource":"*","x":1}])", "/grants/0/x"},
       {"grants", R"([{"action":"a*","resource":"*"}])", "/grants/0/action"},
       {"grants", R"([{"action":"*","resource":"a b"}])", "/grants/0/resource"},
       {"grants", "[" + one + R"(,{"action":"*","resource":"*/compute-pool"}])",
        "/grants/1/resource"}});
}
