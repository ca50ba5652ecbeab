#include "tests/actors/join_world.hpp"

// spec: joining#refusals
namespace bc::test {
namespace {

using events::refusal_reason;

enum class to { root, owner };

struct row {
  refusal_reason reason;
  to whom;
};

// In the order of the checks: row n is the join that passes those before it.
const std::vector<row> rows = {
    {refusal_reason::join_csr, to::root},         // 0 form of the CSR
    {refusal_reason::join_csr, to::root},         // 1 its self-signature
    {refusal_reason::join_attestor, to::root},    // 2
    {refusal_reason::join_token, to::root},       // 3 no seal
    {refusal_reason::join_token, to::root},       // 4 sealed to another key
    {refusal_reason::join_token, to::root},       // 5 for another CSR
    {refusal_reason::token_malformed, to::root},  // 6
    {refusal_reason::token_unknown, to::root},    // 7
    {refusal_reason::token_secret_mismatch, to::root},  // 8
    {refusal_reason::token_revoked, to::owner},         // 9
    {refusal_reason::token_expired, to::owner},         // 10
    {refusal_reason::token_exhausted, to::owner},       // 11
    {refusal_reason::token_role_mismatch, to::owner},   // 12
    {refusal_reason::join_expect, to::owner},           // 13
    {refusal_reason::join_placeholder, to::owner},      // 14
    {refusal_reason::join_reclaim, to::owner},  // 15 without allowReclaim
    {refusal_reason::join_reclaim, to::owner},  // 16 of another pool
    {refusal_reason::join_pool, to::owner},     // 17 no such pool
    {refusal_reason::join_pool, to::owner},     // 18 an archived one
    {refusal_reason::join_pool, to::owner},     // 19 one without daemon
    {refusal_reason::join_tenant, to::owner},   // 20
    {refusal_reason::join_site, to::owner},     // 21 a deleted one
    {refusal_reason::join_site, to::owner},     // 22 the pool's is another
    {refusal_reason::join_site, to::owner},     // 23 the machine names another
    {refusal_reason::join_pool_attestor, to::owner},  // 24
    {refusal_reason::join_csr, to::owner},            // 25 a key in use
};

wire::claims placeholder_claims() {
  wire::claims out;
  out.product_serial = "To Be Filled By O.E.M.";
  out.macs = {"9c:6b:00:11:22:33"};
  return out;
}

struct attempt {
  wire::join_request request;
  std::optional<minted> token;
};

// The pool of row `passed`: of the token's site from row 23 on.
pool_id pool_for(join_world& w, std::size_t passed, const site_id& site) {
  using events::pool::agent;
  const events::pool::policy tpm_alone{{"tpm"}, false, {}};
  auto other_site = w.new_site();
  if (passed <= 17)
    return pki::mint<pool_id>(w.time.now());
  if (passed <= 20) {
    auto foreign = w.new_tenant("foreign-" + std::to_string(passed), false);
    auto pool = w.new_pool(foreign, other_site,
                           passed <= 19 ? agent::none : agent::bcd, tpm_alone);
    if (passed == 18)
      w.archive(pool);
    return pool;
  }
  return w.new_pool(w.owner, passed <= 22 ? other_site : site, agent::bcd,
                    passed <= 24 ? tpm_alone : events::pool::policy{});
}

// A token with every fault that the first `passed` checks leave.
minted token_for(join_world& w, std::size_t passed) {
  auto site = w.new_site();
  auto token = w.mint_token([&](events::join_token::created& t) {
    if (passed <= 10)
      t.expires_at = w.time.now() - seconds{1};
    // With `expect` the placeholder rule is never asked.
    if (passed <= 13)
      t.expect.serial = "SOMEBODY-ELSE-1";
    t.allow_reclaim = passed >= 16;
    // Row 16 must be right about the site, to be wrong about the pool.
    if (passed != 16)
      t.site = site;
    t.pool = pool_for(w, passed, t.site);
  });
  if (passed <= 21 && passed != 16)
    w.delete_site(site);
  if (passed <= 11)
    w.use_up(token);
  if (passed <= 9)
    w.revoke(token);
  return token;
}

// The request and token of row `passed`.
attempt make_attempt(join_world& w, std::size_t passed, const machine& known) {
  auto token = token_for(w, passed);
  auto m = make_machine(200 + static_cast<int>(passed));
  if (passed <= 16)
    m.claims = known.claims;
  if (passed == 14)
    m.claims = placeholder_claims();
  if (passed == 25)
    m = machine{known.key.clone(), known.csr, m.claims};

  std::string text = token.text();
  if (passed <= 6)
    text = "not a token";
  else if (passed == 7)
    text = "bcjt_" + pki::mint<join_token_id>(w.time.now()).str() + "." +
           token.secret;
  else if (passed == 8)
    text = "bcjt_" + token.token.id.str() + "." +
           to_base64url(pki::random_bytes(32));

  auto r = w.request(m, text);
  if (passed <= 4)
    r.sealed_token = pki::seal_token(pki::private_key::generate().pub(), text,
                                     pki::sha256(m.csr), w.time.now());
  if (passed == 5)
    r.sealed_token = w.seal(text, known);
  if (passed <= 3)
    r.sealed_token.reset();
  if (passed <= 2)
    r.attestor = "tpm";
  if (passed == 1)
    r.csr.back() ^= 1;
  if (passed == 0)
    r.csr.pop_back();
  if (passed <= 12)
    r.role = "ramdisk";
  r.site_id = passed <= 23 ? w.new_site().str() : token.token.site.str();
  return {r, token};
}

TEST_CASE("join: each refusal in its order, to its tenant, with one answer") {
  join_world w;
  auto known = make_machine(1);
  auto first = w.mint_token();
  REQUIRE(joined(w.join(known, first.text())));

  std::optional<std::string> bytes_of_all;
  std::optional<std::size_t> length;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    CAPTURE(n);
    auto a = make_attempt(w, n, known);
    auto left = w.uses_left(*a.token);
    w.time.advance(seconds{7});
    auto head = w.head();
    auto got = w.join(a.request);
    check_refused(w, got, head, rows[n].reason,
                  rows[n].whom == to::root ? w.root : w.owner);
    CHECK(w.uses_left(*a.token) == left);
    const auto& report = got.reports.front();
    CHECK(report.attestor == (n <= 2 ? "unknown" : "join-token"));
    CHECK(report.role == a.request.role);
    CHECK(report.csr_sha256 == to_hex(pki::sha256(a.request.csr)));
    // What was compared is told with the token, and never before.
    const bool verified = rows[n].whom == to::owner;
    CHECK(report.token == (verified ? a.token->token.id.str() : ""));
    CHECK((report.details != "{}") == verified);

    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    auto size = wire::encode(got.answer).size();
    CHECK(length.value_or(size) == size);
    length = size;
  }

  SECTION("the row after the last is admitted") {
    auto a = make_attempt(w, rows.size(), known);
    auto got = w.join(a.request);
    CHECK(joined(got));
    CHECK(got.reports.empty());
    CHECK(w.uses_left(*a.token) == 0);
  }
}

// Each look at it takes a millisecond, as if each step did.
class busy_clock final : public clock {
 public:
  [[nodiscard]] time_point now() const override {
    return from_millis(to_millis(start_of_time) + ++looks_);
  }

 private:
  mutable std::int64_t looks_ = 0;
};

TEST_CASE("join: a refusal's signed time does not tell how far it came") {
  join_world w;
  auto known = make_machine(1);
  REQUIRE(joined(w.join(known, w.mint_token().text())));
  for (std::size_t n = 0; n < rows.size(); ++n) {
    CAPTURE(n);
    auto a = make_attempt(w, n, known);
    busy_clock time;
    w.ledger = std::make_shared<sync_ledger>(*w.journal, time);
    auto got = w.join(a.request);
    CHECK(got.answer.code == errc::access_denied);
    REQUIRE(got.answer.time.has_value());
    CHECK(got.answer.time->time_ms == to_millis(start_of_time) + 1);
  }
}

TEST_CASE("join: every reason the service can give stands in the table") {
#define BC_X(name, attestor, text)                               \
  CHECK(std::any_of(rows.begin(), rows.end(), [](const row& r) { \
    return r.reason == refusal_reason::name;                     \
  }));
  BC_JOIN_REFUSAL_REASONS(BC_X)
#undef BC_X
}

TEST_CASE("join: the report names the hardware by its key alone") {
  join_world w;
  auto m = make_machine(1);
  auto got = w.join(m, "bcjt_x.y");
  REQUIRE(got.reports.size() == 1);
  auto key = pki::derive_hardware_key(pki::normalise(
      {m.claims.product_uuid, m.claims.product_serial, {}, {}, {}, {}, {}}));
  CHECK(got.reports.front().hardware_key == key.hex);
}

TEST_CASE("join: a token of the wrong role and a wrong secret (case 23)") {
  // Every combination of {revoked, expired, used up, wrong role}.
  for (int mask = 0; mask < 16; ++mask) {
    CAPTURE(mask);
    join_world w;
    auto m = make_machine(1);
    auto token = w.mint_token([&](auto& t) {
      if ((mask & 2) != 0)
        t.expires_at = w.time.now();
      if ((mask & 8) != 0)
        t.token_role = events::join_token::role::discovery;
    });
    if ((mask & 4) != 0)
      w.use_up(token);
    if ((mask & 1) != 0)
      w.revoke(token);
    auto head = w.head();

    auto wrong = minted{token.token, to_base64url(pki::random_bytes(32))};
    check_refused(w, w.join(m, wrong.text()), head,
                  refusal_reason::token_secret_mismatch, w.root);

    auto got = w.join(m, token.text());
    if (mask == 0) {
      CHECK(joined(got));
      continue;
    }
    auto reason = (mask & 1) != 0   ? refusal_reason::token_revoked
                  : (mask & 2) != 0 ? refusal_reason::token_expired
                  : (mask & 4) != 0 ? refusal_reason::token_exhausted
                                    : refusal_reason::token_role_mismatch;
    check_refused(w, got, head, reason, w.owner);
  }
}

TEST_CASE("join: wrong guesses wear nothing out (case 22)") {
  join_world w;
  auto token = w.mint_token();
  auto m = make_machine(1);
  auto head = w.head();
  for (int i = 0; i < 50; ++i) {
    minted guess{token.token, to_base64url(pki::random_bytes(32))};
    check_refused(w, w.join(m, guess.text()), head,
                  refusal_reason::token_secret_mismatch, w.root);
  }
  CHECK(w.uses_left(token) == 1);
  CHECK(joined(w.join(m, token.text())));
}

TEST_CASE("join: refused attempts leave the token whole (case 10)") {
  join_world w;
  auto m = make_machine(1);
  SECTION("an expired token stays expired, never unknown") {
    auto token = w.mint_token([&](auto& t) { t.expires_at = w.time.now(); });
    auto head = w.head();
    for (int i = 0; i < 2; ++i)
      check_refused(w, w.join(m, token.text()), head,
                    refusal_reason::token_expired, w.owner);
  }
  SECTION("wrong attempts, then the right one") {
    auto token = w.mint_token(
        [&](auto& t) { t.expect.serial = m.claims.product_serial; });
    auto head = w.head();
    check_refused(w, w.join(make_machine(2), token.text()), head,
                  refusal_reason::join_expect, w.owner);
    auto r = w.request(m, token.text());
    r.role = "site";
    check_refused(w, w.join(r), head, refusal_reason::token_role_mismatch,
                  w.owner);
    r = w.request(m, token.text());
    r.site_id = "site_elsewhere";
    check_refused(w, w.join(r), head, refusal_reason::join_site, w.owner);
    CHECK(w.uses_left(token) == 1);
    CHECK(joined(w.join(m, token.text())));
    CHECK(w.uses_left(token) == 0);
  }
}

TEST_CASE("join: a known machine does not spend a fresh token (case 13)") {
  join_world w;
  auto m = make_machine(1);
  REQUIRE(joined(w.join(m, w.mint_token().text())));
  auto other = w.new_pool(w.owner, w.site, events::pool::agent::bcd);
  auto foreign = w.mint_token([&](auto& t) { t.pool = other; });
  auto own = w.mint_token();
  auto head = w.head();
  auto again = make_machine(1);
  for (const auto& token : {foreign, own}) {
    check_refused(w, w.join(again, token.text()), head,
                  refusal_reason::join_reclaim, w.owner);
    CHECK(w.uses_left(token) == 1);
  }
}

TEST_CASE("join: a machine without trusted hardware joins by expect alone") {
  join_world w;
  auto m = make_machine(1);
  m.claims = placeholder_claims();
  auto token =
      w.mint_token([](auto& t) { t.expect.mac = "9c:6b:00:11:22:33"; });
  auto head = w.head();
  auto got = w.join(m, token.text());
  REQUIRE(joined(got));
  auto events = w.after(head);
  auto e = events::node::decode(events.back()).value();
  CHECK_FALSE(std::get<events::node::joined>(e).hardware_key_trusted);
  // It is never taken for a known machine later.
  CHECK_FALSE(w.journal
                  ->holder(events::node::hardware_claim(
                      std::get<events::node::joined>(e).hardware_key))
                  .value()
                  .has_value());
}

}  // namespace
}  // namespace bc::test
