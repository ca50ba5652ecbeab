// The rules of a join token: what it says to whom, and in which order.
#include "events/join_token.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
namespace jt = bc::events::join_token;
using bc::testing::at;
using bc::testing::fixed_id;
using pki::certificate_role;

namespace {

const std::string secret_text(43, 'S');
const auto created_at = at("2026-11-29T12:00:00Z");
const auto expires_at = at("2026-11-29T12:01:00Z");
const auto before_expiry = expires_at - milliseconds{1};

jt::created sample(std::int64_t max_uses = 1) {
  return {fixed_id<join_token_id>(1),
          fixed_id<tenant_id>(1),
          fixed_id<pool_id>(1),
          fixed_id<site_id>(1),
          jt::role::node,
          max_uses,
          {std::nullopt, "SN-7701", std::nullopt, std::nullopt},
          false,
          std::nullopt,
          created_at,
          expires_at,
          to_hex(jt::secret_digest(secret_bytes{secret_text}))};
}

jt::state fold(const std::vector<jt::event>& events) {
  jt::state s;
  for (const auto& e : events)
    s = jt::evolve(std::move(s), e);
  return s;
}

jt::event one_use() {
  return jt::redeemed{fixed_id<join_token_id>(1), fixed_id<node_id>(1),
                      std::string(64, 'a')};
}

jt::event revocation() {
  return jt::revoked{fixed_id<join_token_id>(1), fixed_id<pool_id>(1),
                     created_at};
}

const std::string id_text = fixed_id<join_token_id>(1).str();

}  // namespace

TEST_CASE("join_token: each role admits one certificate role") {
  CHECK(jt::admits(jt::role::node, false) == certificate_role::node);
  CHECK(jt::admits(jt::role::node, true) == certificate_role::node_tenant);
  CHECK(jt::admits(jt::role::site, false) == certificate_role::site);
  CHECK(jt::admits(jt::role::provisioned, false) == certificate_role::node);
  CHECK(jt::admits(jt::role::discovery, false) == certificate_role::ramdisk);
}

TEST_CASE("join_token: a token is usable for its own certificate role alone") {
  const certificate_role asks[] = {
      certificate_role::node, certificate_role::node_tenant,
      certificate_role::site, certificate_role::ramdisk};
  struct row {
    jt::role role;
    bool hosted;
    std::vector<certificate_role> good;
  };
  for (const auto& r :
       {row{jt::role::node, false, {certificate_role::node}},
        row{jt::role::node,
            true,
            {certificate_role::node, certificate_role::node_tenant}},
        row{jt::role::site, false, {certificate_role::site}},
        row{jt::role::provisioned, false, {certificate_role::node}},
        row{jt::role::discovery, false, {certificate_role::ramdisk}}}) {
    auto t = sample();
    t.token_role = r.role;
    if (r.hosted)
      t.hosted = "kubernetes";
    auto s = fold({t});
    for (auto asked : asks) {
      INFO(jt::role_text(r.role) << " asked for " << pki::role_text(asked));
      bool is_good = std::count(r.good.begin(), r.good.end(), asked) > 0;
      CHECK(jt::check_usable(s, asked, created_at) ==
            (is_good ? std::nullopt
                     : std::optional{refusal_reason::token_role_mismatch}));
    }
  }
}

TEST_CASE("join_token: a site token is its site's alone") {
  auto t = sample();
  t.pool.reset();
  t.token_role = jt::role::site;
  t.expect = {};
  auto s = fold({t});
  jt::create again{t};
  CHECK(jt::decide(s, again).value().empty());
  again.token.max_uses = 7;
  CHECK(jt::decide(s, again).value().empty());
  again.token.site = fixed_id<site_id>(2);
  CHECK(jt::decide(s, again).error().code == errc::conflict);
  again = {t};
  again.token.token_role = jt::role::node;
  CHECK(jt::decide(s, again).error().code == errc::conflict);

  auto tenant = fixed_id<tenant_id>(1);
  auto site = fixed_id<site_id>(1);
  for (const auto& wrong :
       {jt::revoke{tenant, fixed_id<pool_id>(1), created_at},
        jt::revoke{tenant, std::nullopt, created_at},
        jt::revoke{tenant, std::nullopt, created_at, fixed_id<site_id>(2)},
        jt::revoke{fixed_id<tenant_id>(2), std::nullopt, created_at, site}})
    CHECK(jt::decide(s, wrong).error().code == errc::not_found);
  auto revoked =
      jt::decide(s, jt::revoke{tenant, std::nullopt, created_at, site});
  REQUIRE(revoked);
  REQUIRE(revoked.value().size() == 1);
  CHECK(std::get<jt::revoked>(revoked.value()[0]) ==
        jt::revoked{t.id, std::nullopt, created_at, site});
  // A pool's token is no site token, whatever its pool's site.
  CHECK(jt::decide(fold({sample()}),
                   jt::revoke{tenant, std::nullopt, created_at, site})
            .error()
            .code == errc::not_found);
}

TEST_CASE("join_token: creating is once, a retry is no event") {
  jt::create command{sample()};
  auto first = jt::decide({}, command);
  REQUIRE(first);
  REQUIRE(first.value().size() == 1);
  CHECK(std::get<jt::created>(first.value()[0]) == command.token);

  auto s = fold(first.value());
  CHECK(s.version == 1);
  CHECK(jt::decide(s, command).value().empty());

  SECTION("another lifetime, count or secret is still the same token") {
    command.token.max_uses = 7;
    command.token.expires_at += seconds{60};
    command.token.secret_sha256 = std::string(64, '0');
    CHECK(jt::decide(s, command).value().empty());
  }
  SECTION("another pool, expect, allowReclaim or hosted is a conflict") {
    auto other = GENERATE(0, 1, 2, 3);
    if (other == 0)
      command.token.pool = fixed_id<pool_id>(2);
    if (other == 1)
      command.token.expect.serial = "SN-7702";
    if (other == 2)
      command.token.allow_reclaim = true;
    if (other == 3)
      command.token.hosted = "kubernetes";
    auto refused = jt::decide(s, command);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::conflict);
  }
  SECTION("a token that was revoked meanwhile is still the answer") {
    CHECK(jt::decide(jt::evolve(s, revocation()), command).value().empty());
  }
}

TEST_CASE("join_token: revoking ends it once") {
  auto s = fold({sample()});
  jt::revoke command{fixed_id<tenant_id>(1), fixed_id<pool_id>(1),
                     before_expiry};
  auto events = jt::decide(s, command);
  REQUIRE(events);
  REQUIRE(events.value().size() == 1);
  CHECK(std::get<jt::revoked>(events.value()[0]) ==
        jt::revoked{fixed_id<join_token_id>(1), fixed_id<pool_id>(1),
                    before_expiry});
  s = jt::evolve(s, events.value()[0]);
  CHECK(s.revoked_at == before_expiry);
  CHECK(jt::decide(s, command).value().empty());

  SECTION("a second revocation in the journal keeps the first time") {
    auto later = jt::evolve(s, jt::revoked{fixed_id<join_token_id>(1),
                                           fixed_id<pool_id>(1), expires_at});
    CHECK(later.revoked_at == before_expiry);
  }
  SECTION("an expired token can still be revoked") {
    command.now = expires_at + seconds{5};
    CHECK(jt::decide(fold({sample()}), command).value().size() == 1);
  }
}

TEST_CASE("join_token: revoking what is not there is NOT_FOUND") {
  auto row = GENERATE(0, 1, 2);
  jt::revoke command{fixed_id<tenant_id>(row == 1 ? 2 : 1),
                     fixed_id<pool_id>(row == 2 ? 2 : 1), created_at};
  auto answer = jt::decide(row == 0 ? jt::state{} : fold({sample()}), command);
  REQUIRE(!answer);
  CHECK(answer.error().code == errc::not_found);
}

TEST_CASE("join_token: redemptions count down and never below none") {
  auto s = fold({sample(2)});
  CHECK(s.uses_left == 2);
  s = jt::evolve(s, one_use());
  CHECK(s.uses_left == 1);
  s = jt::evolve(jt::evolve(s, one_use()), one_use());
  CHECK(s.uses_left == 0);
  CHECK(s.version == 4);
}

TEST_CASE("join_token: what does not fit the state leaves it as it is") {
  auto s = fold({one_use(), revocation()});
  CHECK(!s.token);
  CHECK(!s.revoked_at);
  CHECK(s.uses_left == 0);
  CHECK(s.version == 2);

  auto other = sample(9);
  other.id = fixed_id<join_token_id>(2);
  auto twice = fold({sample(3), one_use(), other});
  CHECK(twice.token == sample(3));
  CHECK(twice.uses_left == 2);
}

TEST_CASE("join_token: which reason wins, all sixteen states (case 23)") {
  for (unsigned bits = 0; bits < 16; ++bits) {
    bool revoked = bits & 1, expired = bits & 2, used = bits & 4,
         wrong_role = bits & 8;
    INFO("revoked " << revoked << " expired " << expired << " used up " << used
                    << " wrong role " << wrong_role);
    auto s = fold({sample()});
    if (used)
      s = jt::evolve(s, one_use());
    if (revoked)
      s = jt::evolve(s, revocation());
    auto now = expired ? expires_at : before_expiry;
    auto role = wrong_role ? certificate_role::site : certificate_role::node;

    std::optional<refusal_reason> want;
    if (wrong_role)
      want = refusal_reason::token_role_mismatch;
    if (used)
      want = refusal_reason::token_exhausted;
    if (expired)
      want = refusal_reason::token_expired;
    if (revoked)
      want = refusal_reason::token_revoked;

    // The secret is judged before any of it.
    CHECK(jt::check_secret(
              s, jt::secret_digest(secret_bytes{std::string(43, 's')})) ==
          refusal_reason::token_secret_mismatch);
    CHECK(jt::check_secret(s, jt::secret_digest(secret_bytes{secret_text})) ==
          std::nullopt);
    CHECK(jt::check_usable(s, role, now) == want);
  }
}

TEST_CASE("join_token: a token that is not there is unknown") {
  CHECK(jt::check_secret({}, jt::secret_digest(secret_bytes{secret_text})) ==
        refusal_reason::token_unknown);
  CHECK(jt::check_usable({}, certificate_role::node, created_at) ==
        refusal_reason::token_unknown);
}

TEST_CASE("join_token: a refused attempt changes nothing (case 10)") {
  const auto s = fold({sample(1)});
  for (int attempt = 0; attempt < 2; ++attempt)
    CHECK(jt::check_usable(s, certificate_role::node, expires_at) ==
          refusal_reason::token_expired);
  CHECK(jt::check_usable(s, certificate_role::ramdisk, before_expiry) ==
        refusal_reason::token_role_mismatch);
  CHECK(s.uses_left == 1);
  CHECK(jt::check_usable(s, certificate_role::node, before_expiry) ==
        std::nullopt);
}

TEST_CASE("join_token: expiry is judged at the decision's time (case 15)") {
  const auto s = fold({sample()});
  auto check = [&s](time_point now) {
    return jt::check_usable(s, certificate_role::node, now);
  };
  CHECK(check(created_at) == std::nullopt);
  CHECK(check(before_expiry) == std::nullopt);
  // A join that came at second 55 and waited until second 70.
  CHECK(check(created_at + seconds{55}) == std::nullopt);
  CHECK(check(created_at + seconds{70}) == refusal_reason::token_expired);
  CHECK(check(expires_at) == refusal_reason::token_expired);
}

TEST_CASE("join_token: the bearer form is read exactly") {
  auto good = jt::parse_bearer("bcjt_" + id_text + "." + secret_text);
  REQUIRE(good);
  CHECK(good->id.str() == id_text);
  CHECK(good->secret.expose_text() == secret_text);

  auto hashed = testing::sampler{3}.hashed_id<join_token_id>().str();
  CHECK(jt::parse_bearer("bcjt_" + hashed + "." + secret_text));
}

TEST_CASE("join_token: an id or a secret alone is malformed (case 4)") {
  CHECK(!jt::parse_bearer(id_text));
  CHECK(!jt::parse_bearer("bcjt_" + id_text));
  CHECK(!jt::parse_bearer(secret_text));
  CHECK(!jt::parse_bearer("bcjt_" + secret_text));
  CHECK(!jt::parse_bearer(id_text + "." + secret_text));
}

TEST_CASE("join_token: letters are not folded (case 5)") {
  auto id = GENERATE_COPY(as<std::string>{}, "JT_" + id_text.substr(3),
                          id_text.substr(0, 10) + "A" + id_text.substr(11),
                          id_text.substr(0, 10) + "i" + id_text.substr(11),
                          id_text.substr(0, 10) + "l" + id_text.substr(11),
                          id_text.substr(0, 10) + "o" + id_text.substr(11),
                          id_text.substr(0, 10) + "u" + id_text.substr(11));
  INFO(id);
  CHECK(!jt::parse_bearer("bcjt_" + id + "." + secret_text));
  CHECK(!jt::parse_bearer("BCJT_" + id_text + "." + secret_text));

  // A letter of the secret in another case is another secret, not malformed.
  auto other = secret_text;
  other.back() = 's';
  auto parsed = jt::parse_bearer("bcjt_" + id_text + "." + other);
  REQUIRE(parsed);
  CHECK(jt::check_secret(fold({sample()}), jt::secret_digest(parsed->secret)) ==
        refusal_reason::token_secret_mismatch);
}

TEST_CASE("join_token: blanks and line ends are not trimmed (case 1, 2)") {
  const auto good = "bcjt_" + id_text + "." + secret_text;
  for (const auto& text :
       {good + "\n", good + "\r\n", " " + good, good + " ",
        "\xEF\xBB\xBF" + good, "\xE2\x80\x9C" + good + "\xE2\x80\x9D",
        "bcjt_" + id_text + " ." + secret_text,
        "bcjt_" + id_text + "." + secret_text.substr(2) + "\xC2\xA0"}) {
    INFO(text);
    CHECK(!jt::parse_bearer(text));
  }
}

TEST_CASE("join_token: dots, empty and enormous parts (case 8)") {
  const auto prefix = "bcjt_" + id_text;
  for (const auto& text :
       {prefix + ".S.S", prefix + "." + secret_text + "." + secret_text,
        "bcjt_." + secret_text, prefix + ".", prefix, std::string{"."},
        std::string{}, prefix + "." + std::string(1 << 20, 'A'),
        prefix + std::string(1, '\0') + "." + secret_text,
        prefix + "." + secret_text + "A", prefix + "." + secret_text.substr(1),
        prefix + "." + secret_text.substr(1) + "=",
        prefix + "." + secret_text.substr(1) + "+"}) {
    CHECK(!jt::parse_bearer(text));
  }
}

TEST_CASE("join_token: what is minted can be read (case 6)") {
  testing::sampler random{6};
  for (int i = 0; i < 2000; ++i) {
    auto id = random.hashed_id<join_token_id>().str();
    auto secret = to_base64url(random.blob(32));
    auto parsed = jt::parse_bearer("bcjt_" + id + "." + secret);
    REQUIRE(parsed);
    CHECK(parsed->secret.expose_text() == secret);
  }
}
