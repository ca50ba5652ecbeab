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
