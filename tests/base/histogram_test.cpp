#include "base/histogram.hpp"

#include <catch2/catch.hpp>

#include <thread>
#include <vector>

using bc::histogram;

TEST_CASE("histogram: a bound counts what is at most it") {
  histogram h{{1, 2.5, 10}};
  for (double v : {0.5, 1.0, 1.1, 2.5, 9.0, 10.0, 10.1, 1e9})
    h.add(v);
  auto seen = h.read();
  CHECK(seen.bounds == std::vector<double>{1, 2.5, 10});
  CHECK(seen.at_most == std::vector<std::uint64_t>{2, 4, 6, 8});
  CHECK(seen.sum == Approx(1e9 + 34.2));
}

TEST_CASE("histogram: nothing was added") {
  auto seen = histogram{{1, 2}}.read();
  CHECK(seen.at_most == std::vector<std::uint64_t>{0, 0, 0});
  CHECK(seen.sum == 0);
}

TEST_CASE("histogram: no value is lost among threads") {
  histogram h{{1}};
  std::vector<std::thread> adding;
  for (int i = 0; i < 4; ++i)
    adding.emplace_back([&] {
      for (int n = 0; n < 1000; ++n)
        h.add(n % 2 == 0 ? 1 : 2);
    });
  for (auto& t : adding)
    t.join();
  CHECK(h.read().at_most == std::vector<std::uint64_t>{2000, 4000});
  CHECK(h.read().sum == 6000);
}
