// `better-compute doctor` on a store whose clock is not this machine's.
#include "ops/cli/doctor.hpp"
#include "ops/store/store.hpp"
#include "tests/support/postgres.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

using namespace bc;
using cli::verdict;

namespace {

/// A machine whose clock is wrong.
class skewed_clock final : public clock {
 public:
  explicit skewed_clock(seconds by) : by_(by) {}
  [[nodiscard]] time_point now() const override {
    return bc::system_clock{}.now() + by_;
  }

 private:
  seconds by_;
};

}  // namespace

TEST_CASE("doctor: the lease ends by the store's clock", "[ops]") {
  testing::postgres_schema schema;
  bc::system_clock time;
  auto where = store::parse_url(schema.url()).value();
  REQUIRE(store::migrate(where, time));
  auto journal = store::open(where, time);
  REQUIRE(journal);
  auto look = [&](seconds skew) {
    cli::patient p;
    p.store_url = schema.url();
    std::shared_ptr<const pki::key_bundle> keys;
    auto all = cli::examine_store(p, skewed_clock{skew}, keys);
    auto at = std::find_if(all.begin(), all.end(),
                           [](const auto& f) { return f.check == "lease"; });
    REQUIRE(at != all.end());
    return at->how;
  };
  REQUIRE(journal.value().journal->acquire_lease("api-1", seconds{600}));
  CHECK(look(seconds{3'600}) == verdict::ok);
  CHECK(look(seconds{-3'600}) == verdict::ok);
  REQUIRE(journal.value().journal->acquire_lease("api-1", seconds{0}));
  CHECK(look(seconds{-3'600}) == verdict::warning);
}

TEST_CASE("doctor: a store that nobody checks across a network is told",
          "[ops]") {
  testing::postgres_schema schema;
  bc::system_clock time;
  REQUIRE(store::migrate(store::parse_url(schema.url()).value(), time));
  auto warns = [&](const std::string& more) {
    cli::patient p;
    p.store_url = schema.url() + more;
    std::shared_ptr<const pki::key_bundle> keys;
    auto all = cli::examine_store(p, time, keys);
    return std::ranges::any_of(all, [](const auto& f) {
      return f.check == "store" && f.how == verdict::warning;
    });
  };
  CHECK_FALSE(warns(""));
  // What a service says is not known: it might lead anywhere.
  temporary_folder folder;
  const auto services = folder / "services";
  write_text(services, "[here]\nconnect_timeout=3\n");
  ::setenv("PGSERVICEFILE", services.c_str(), 1);
  CHECK(warns("&service=here"));
  ::unsetenv("PGSERVICEFILE");
}
