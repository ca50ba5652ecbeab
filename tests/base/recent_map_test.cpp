#include "base/recent_map.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("recent_map: a key keeps its value, another has its own") {
  recent_map<int> map{3};
  CHECK(map.find("a") == nullptr);
  CHECK(map.use("a", 1) == 1);
  CHECK(map.use("b", 2) == 2);
  map.use("a", 7) += 10;
  CHECK(*map.find("a") == 11);
  CHECK(*map.find("b") == 2);
  CHECK(map.size() == 2);
}

TEST_CASE("recent_map: the longest unused is forgotten; a look is no use") {
  recent_map<int> map{3};
  for (const auto* key : {"a", "b", "c"})
    map.use(key, 1);
  map.use("a", 1);
  REQUIRE(map.find("b") != nullptr);
  map.use("d", 1);
  CHECK(map.find("b") == nullptr);
  for (const auto* key : {"a", "c", "d"})
    CHECK(map.find(key) != nullptr);
  for (int i = 0; i < 10'000; ++i)
    map.use(std::to_string(i), i);
  CHECK(map.size() == 3);
  CHECK(*map.find("9999") == 9'999);
  CHECK(map.find("9996") == nullptr);
  CHECK(map.use("9996", 5) == 5);  // begins anew
}

TEST_CASE("recent_map: it holds one at least") {
  recent_map<int> map{0};
  map.use("a", 1);
  CHECK(map.use("b", 2) == 2);
  CHECK(map.size() == 1);
}
