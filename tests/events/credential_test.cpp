#include "events/credential.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
namespace cr = bc::events::credential;
using bc::testing::fixed_id;

TEST_CASE("credential: a grant's patterns are names or end in a star") {
  for (auto good : {"*", "compute:*", "compute:join-tokens:create",
                    "compute-pool/*", "compute-pool/pool_01", "a.b_c"}) {
    INFO(good);
    CHECK(cr::check_grant({good, "*"}));
    CHECK(cr::check_grant({"*", good}));
  }
  for (auto bad : {"", "**", "compute*", "*:create", "compute:*:create",
                   "compute: x", "compute:**", "caf\xc3\xa9", "a\nb"}) {
    INFO(bad);
    auto action = cr::check_grant({bad, "*"});
    REQUIRE(!action);
    CHECK(action.error().code == errc::invalid_input);
    CHECK(action.error().path == "/action");
    auto resource = cr::check_grant({"*", bad});
    REQUIRE(!resource);
    CHECK(resource.error().path == "/resource");
  }
  CHECK(!cr::check_grant({std::string(257, 'a'), "*"}));
}

TEST_CASE("credential: both patterns of one grant must cover the call") {
  std::vector<cr::grant> grants{{"compute:join-tokens:*", "compute-pool/*"},
                                {"compute:sites:read", "compute-site/s1"}};
  CHECK(cr::allows(grants, "compute:join-tokens:create", "compute-pool/p1"));
  CHECK(!cr::allows(grants, "compute:join-tokens:create", "compute-site/s1"));
  CHECK(!cr::allows(grants, "compute:join-token", "compute-pool/p1"));
  CHECK(!cr::allows(grants, "compute:sites:read", "compute-pool/p1"));
  CHECK(cr::allows(grants, "compute:sites:read", "compute-site/s1"));
  CHECK(!cr::allows(grants, "compute:sites:read", "compute-site/s12"));
  CHECK(!cr::allows({}, "compute:sites:read", "compute-site/s1"));
  CHECK(cr::allows({{"*", "*"}}, "anything", "at/all"));
}

TEST_CASE("credential: the bearer form and its secret") {
  const std::string secret(43, 'x');
  auto id = fixed_id<credential_id>(1);
  auto parsed = cr::parse_bearer(id.str() + "." + secret);
  REQUIRE(parsed);
  CHECK(parsed->id == id);

  cr::state s;
  CHECK(!cr::secret_matches(s, parsed->secret));
  s = cr::evolve(s, cr::created{id,
                                fixed_id<tenant_id>(1),
                                "root",
                                {{"*", "*"}},
                                {},
                                to_hex(pki::sha256(as_bytes(secret)))});
  CHECK(s.version == 1);
  CHECK(cr::secret_matches(s, parsed->secret));
  CHECK(!cr::secret_matches(s, secret_bytes{std::string(43, 'y')}));
  CHECK(!cr::secret_matches(s, secret_bytes{}));

  for (const auto& bad :
       {id.str(), id.str() + ".", "." + secret, id.str() + secret,
        "bck_" + id.str() + "." + secret, id.str() + "." + secret + " ",
        " " + id.str() + "." + secret, id.str() + ".x." + secret,
        "BCK_" + id.str().substr(4) + "." + secret}) {
    INFO(bad);
    CHECK(!cr::parse_bearer(bad));
  }
}

TEST_CASE("credential: revoked once, for ever") {
  auto id = fixed_id<credential_id>(1);
  const auto at = time_point{} + seconds{100};
  cr::state s;
  auto unknown = cr::decide(s, cr::revoke{at});
  REQUIRE(!unknown);
  CHECK(unknown.error().code == errc::not_found);

  s = cr::evolve(s, cr::created{id, fixed_id<tenant_id>(1), "ci", {}, {}, ""});
  auto decided = cr::decide(s, cr::revoke{at});
  REQUIRE(decided);
  REQUIRE(decided.value().size() == 1);
  CHECK(std::get<cr::revoked>(decided.value().front()) ==
        cr::revoked{id, "ci", at});

  s = cr::evolve(s, decided.value().front());
  CHECK(s.version == 2);
  CHECK(s.revoked_at == at);
  CHECK(s.credential->principal == "ci");
  auto again = cr::decide(s, cr::revoke{at + seconds{1}});
  REQUIRE(again);
  CHECK(again.value().empty());
  // What does not fit changes the version alone.
  s = cr::evolve(s, cr::revoked{id, "ci", at + seconds{9}});
  CHECK(s.version == 3);
  CHECK(s.revoked_at == at);
  s = cr::evolve(s, cr::created{id, fixed_id<tenant_id>(2), "eve", {}, {}, ""});
  CHECK(s.credential->principal == "ci");
  CHECK(cr::evolve({}, cr::revoked{id, "ci", at}).revoked_at == std::nullopt);
}
