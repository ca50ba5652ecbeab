// spec: DESIGN section 10 (ids); CASES 5, 6
#include "base/ids.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_set>

using namespace bc;

namespace {

const std::string body = "01k5w000000000000000000000";

std::array<std::uint8_t, 10> random_from(std::mt19937_64& source) {
  std::array<std::uint8_t, 10> out;
  for (auto& byte : out)
    byte = static_cast<std::uint8_t>(source());
  return out;
}

}  // namespace

TEST_CASE("ids: the published pattern") {
  CHECK(join_token_id::parse("jt_" + body));
  CHECK(join_token_id::parse("jt_" + std::string(52, 'z')));
  CHECK(node_id::parse("node_" + body).value().str() == "node_" + body);
  for (const auto& bad :
       {std::string{}, std::string{"jt_"}, "jt_" + body.substr(1),
        "jt_" + std::string(53, '0'), "node_" + body, "JT_" + body, body,
        "jt_" + body + " ", " jt_" + body, "jt_" + body + "\n"}) {
    INFO(bad);
    auto id = join_token_id::parse(bad);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == errc::invalid_input);
  }
}

TEST_CASE("ids: no letter stands for another (case 5)") {
  for (char c : {'i', 'l', 'o', 'u', 'I', 'L', 'O', 'U', 'A', 'Z', '-', '_'})
    CHECK_FALSE(join_token_id::parse("jt_" + body.substr(1) + c));
}

TEST_CASE(
    "ids: what is minted parses, is unique and sorts by time "
    "(case 6)") {
  std::mt19937_64 source{20'261'129};
  std::unordered_set<std::string> seen;
  std::unordered_set<char> first, last;
  auto time = from_millis(1'764'000'000'000);
  std::string before;
  std::size_t unsorted = 0, unreadable = 0;
  for (int i = 0; i < 100'000; ++i) {
    // Up to the last moment 48 bits of milliseconds can tell.
    time +=
        milliseconds{1 + static_cast<std::int64_t>(source() % 2'000'000'000)};
    auto id = join_token_id::time_ordered(time, random_from(source));
    auto parsed = join_token_id::parse(id.str());
    if (!parsed || parsed.value() != id || id.str().size() != 29)
      ++unreadable;
    if (id.str() <= before)
      ++unsorted;
    before = id.str();
    first.insert(id.str()[3]);
    last.insert(id.str().back());
    seen.insert(id.str());
  }
  CHECK(unreadable == 0);
  CHECK(unsorted == 0);
  CHECK(seen.size() == 100'000);
  CHECK(last.size() == 32);
  CHECK(first.size() >= 2);
}

TEST_CASE("ids: of a digest, 52 characters, stable (case 6)") {
  std::array<std::uint8_t, 32> digest{};
  digest.back() = 31;
  auto id = join_token_id::from_digest(digest);
  CHECK(id.str() == "jt_" + std::string(51, '0') + "z");
  CHECK(join_token_id::parse(id.str()).value() == id);
  CHECK(join_token_id::from_digest(digest) == id);
  std::mt19937_64 source{7};
  for (int i = 0; i < 1'000; ++i) {
    std::generate(digest.begin(), digest.end(),
                  [&source] { return static_cast<std::uint8_t>(source()); });
    REQUIRE(join_token_id::parse(join_token_id::from_digest(digest).str()));
  }
}
