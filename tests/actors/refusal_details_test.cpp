// DESIGN section 7: what the index of refusals holds, and whose it is.
#include "actors/joining/refusal_details.hpp"

#include "base/json.hpp"
#include "events/refusal.hpp"
#include "tests/actors/join_world.hpp"

namespace bc::test {
namespace {

std::string field(const std::string& details, const char* name) {
  auto read = json::parse_object(details);
  REQUIRE(read);
  return json::reader{read.value()}.optional_text(name).value().value_or("");
}

actors::refusal_report refused(join_world& w, const wire::join_request& r) {
  auto got = w.join(r);
  REQUIRE(got.reports.size() == 1);
  return got.reports.front();
}

TEST_CASE("refusal details: none before the secret verified") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto unsealed = w.request(m, "x");
  unsealed.sealed_token.reset();
  minted guess{token.token, to_base64url(pki::random_bytes(32))};
  for (const auto& r :
       {unsealed, w.request(m, "x"), w.request(m, guess.text())}) {
    auto report = refused(w, r);
    CHECK(report.owner == w.root);
    CHECK(report.token.empty());
    CHECK(report.details == "{}");
  }
}

TEST_CASE("refusal details: each rule says what it compared") {
  join_world w;
  auto m = make_machine(1);
  struct row {
    std::string expected, presented;
    std::function<void(events::join_token::created&)> token;
    std::function<void(wire::join_request&)> request;
  };
  const auto now = to_rfc3339(w.time.now());
  const std::vector<row> rows = {
      {"before " + now, now, [&](auto& t) { t.expires_at = w.time.now(); }, {}},
      {"role node", "role ramdisk", {}, [](auto& r) { r.role = "ramdisk"; }},
      {"serial SN-OTHER-1",
       "productUuid 4f1c3a52-9b7d-4e60-8a21-d0c5b7000001, serial SN-77000001K",
       [](auto& t) { t.expect.serial = "SN-OTHER-1"; },
       {}},
      {"site " + w.site.str(),
       "a machine that names another site",
       {},
       [](auto& r) { r.site_id = "site_elsewhere"; }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.expected);
    auto token = w.mint_token(row.token);
    auto r = w.request(m, token.text());
    if (row.request)
      row.request(r);
    auto report = refused(w, r);
    CHECK(report.token == token.token.id.str());
    CHECK(field(report.details, "expected") == row.expected);
    CHECK(field(report.details, "presented") == row.presented);
    CHECK(field(report.details, "poolId") == w.pool.str());
    CHECK(field(report.details, "claimedSiteId") == r.site_id);
    CHECK(field(report.details, "hardwareKey") == report.hardware_key);
    CHECK(report.details.find(token.secret) == std::string::npos);
  }
}

TEST_CASE("refusal details: revoked, used up, and a key of another") {
  join_world w;
  auto m = make_machine(1);
  auto spent = w.mint_token([](auto& t) { t.max_uses = 3; });
  w.use_up(spent);
  CHECK(field(refused(w, w.request(m, spent.text())).details, "presented") ==
        "0 of 3 left");
  w.revoke(spent);
  CHECK(field(refused(w, w.request(m, spent.text())).details, "presented") ==
        "revoked at " + to_rfc3339(w.time.now()));
  REQUIRE(joined(w.join(m, w.mint_token().text())));
  auto clone = make_machine(2);
  clone = machine{m.key.clone(), m.csr, clone.claims};
  auto report = refused(w, w.request(clone, w.mint_token().text()));
  CHECK(report.reason == events::refusal_reason::join_csr);
  CHECK(field(report.details, "expected") == "a new key");
}

TEST_CASE("refusal details: a few KiB, whatever a machine claims") {
  join_world w;
  auto m = make_machine(1);
  m.claims.product_serial = std::string(250, 'K') + "123456";
  m.claims.board_serial = m.claims.product_serial + "B";
  m.claims.board_serial.resize(256);
  for (int i = 0; i < 64; ++i) {
    auto digits = std::to_string(10 + i);
    m.claims.macs.push_back("9c:6b:00:11:22:" + digits);
    m.claims.gpu_uuids.push_back("GPU-4f1c3a52-9b7d-4e60-8a21-d0c5b71234" +
                                 digits);
  }
  auto token = w.mint_token([](auto& t) { t.expect.serial = "SN-OTHER-1"; });
  auto r = w.request(m, token.text());
  r.site_id.clear();
  for (int i = 0; i < 85; ++i)
    r.site_id += "\xe2\x82\xac";
  auto report = refused(w, r);
  CHECK(report.details.size() < 4096);
  CHECK(json::parse_object(report.details).has_value());
}

TEST_CASE("refusal details: identifiers read back") {
  join_world w;
  auto m = make_machine(1);
  m.claims.board_serial = "BRD-00991";
  m.claims.macs = {"9C-6B-00-11-22-33", "9c:6b:00:11:22:34"};
  m.claims.gpu_uuids = {"GPU-4f1c3a52-9b7d-4e60-8a21-d0c5b7123456"};
  auto token = w.mint_token([](auto& t) { t.expect.serial = "SN-OTHER-1"; });
  auto report = refused(w, w.request(m, token.text()));
  CHECK(actors::identifiers_in(report.details) ==
        pki::normalise(events::hardware_of(m.claims)));
  CHECK_THAT(
      field(report.details, "presented"),
      Catch::EndsWith("gpuUuid GPU-4f1c3a52-9b7d-4e60-8a21-d0c5b7123456"));
  CHECK(actors::identifiers_in("{}") == pki::identifiers{});
  CHECK(actors::identifiers_in("no JSON") == pki::identifiers{});
}

}  // namespace
}  // namespace bc::test
