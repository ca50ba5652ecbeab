// spec: issue "The main job", base/ (secret bytes)
#include "base/secret_bytes.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <type_traits>

using namespace bc;

template <class T>
concept printable = requires(std::ostream& out, const T& v) {
  out << v;
};
template <class T>
concept ordered = requires(const T& a, const T& b) {
  a < b;
};

TEST_CASE("secret bytes: not copied, ordered or printed by accident") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<secret_bytes>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<secret_bytes>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<secret_bytes, std::string_view>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::string_view, secret_bytes>);
  STATIC_REQUIRE_FALSE(printable<secret_bytes>);
  STATIC_REQUIRE_FALSE(ordered<secret_bytes>);
}

TEST_CASE("secret bytes: equality, clones and moves") {
  secret_bytes a{std::string_view{"secret"}};
  CHECK((a == secret_bytes{std::string_view{"secret"}}));
  CHECK_FALSE((a == secret_bytes{std::string_view{"secreT"}}));
  CHECK_FALSE((a == secret_bytes{std::string_view{"secret "}}));
  CHECK_FALSE((a == secret_bytes{}));
  auto copy = a.clone();
  CHECK((copy == a));
  auto moved = std::move(a);
  CHECK(moved.expose_text() == "secret");
  CHECK(a.empty());  // NOLINT: what a move leaves is the contract
  copy = secret_bytes{std::string_view{"other"}};
  CHECK(copy.size() == 5);
}

TEST_CASE("secret bytes: wiping overwrites") {
  std::uint8_t memory[32];
  std::fill(std::begin(memory), std::end(memory), std::uint8_t{0xa5});
  wipe(memory, 31);
  CHECK(std::count(std::begin(memory), std::end(memory), 0) == 31);
  CHECK(memory[31] == 0xa5);
  wipe(nullptr, 0);
  bytes given{1, 2, 3};
  secret_bytes taken{std::move(given)};
  CHECK(given.empty());  // NOLINT: nothing stays behind
  CHECK(taken.size() == 3);
}
