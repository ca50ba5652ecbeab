// spec: joining#node-certificates; CASES 95
#include "pki/spiffe.hpp"

#include "pki/bundle.hpp"
#include "pki/digest.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

const std::string site = "site_01k5w00000000000000000000a";
const std::string node = "node_01k5w00000000000000000000b";
const std::string good =
    "spiffe://compute.example.com/site/" + site + "/node/" + node;

}  // namespace

TEST_CASE("spiffe: an id is read as it is written") {
  spiffe_id id{"compute.example.com", site, node};
  CHECK(to_uri(id) == good);
  REQUIRE(parse_spiffe_id(good));
  CHECK(parse_spiffe_id(good).value() == id);
}

TEST_CASE("spiffe: no other spelling is the same node (case 95)") {
  auto path = "/site/" + site + "/node/" + node;
  auto bad = GENERATE_COPY(
      "spiffe://Compute.Example.com" + path, "spiffe://d.example:443" + path,
      "spiffe://user@d.example" + path, "spiffe://" + path, good + "/",
      good + "?", good + "#x", good + " ", "SPIFFE" + good.substr(6),
      "spiffe:/" + good.substr(9),
      "spiffe://d.example//site/" + site + "/node/" + node,
      "spiffe://d.example/site//" + site + "/node/" + node,
      "spiffe://d.example/site/./" + site + "/node/" + node,
      "spiffe://d.example/site/" + site + "//node/" + node,
      "spiffe://d.example/site/../site/" + site + "/node/" + node,
      "spiffe://d.example/site/" + site + "/%6eode/" + node,
      "spiffe://d.example/site/s/node/n",
      "spiffe://d.example/node/" + node + "/site/" + site,
      "spiffe://d.example/site/" + site, std::string{"spiffe://"},
      std::string{});
  CAPTURE(bad);
  CHECK_FALSE(parse_spiffe_id(bad));
}

TEST_CASE("spiffe: a trust domain has lower case and no port (case 95)") {
  CHECK(parse_trust_domain("compute.example.com"));
  CHECK(parse_trust_domain("under_score-1"));
  CHECK(parse_trust_domain(std::string(255, 'a')));
  auto bad = GENERATE(as<std::string>{}, "", "Compute.example.com", "a/b",
                      "a:443", "a b", "user@a", "\xc3\xa4", "a%2e",
                      "spiffe://a", std::string(256, 'a'));
  CAPTURE(bad);
  CHECK_FALSE(parse_trust_domain(bad));
  auto bundle = make_bundle(bad, noon);
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().code == errc::invalid_input);
}
