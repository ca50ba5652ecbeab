#include "events/postgres_pool.hpp"
#include "projections/checkpoint.hpp"
#include "projections/source.hpp"

#include <utility>

namespace bc::projections {

namespace {

constexpr std::size_t most_connections = 4;

class pool_source final : public source {
 public:
  explicit pool_source(const std::string& url)
      : pool_(url, most_connections, {}) {}

  /// Opens the first connection.
  [[nodiscard]] result<void> check() {
    checkpoint at;
    auto read = with([&at](sql::connection& db) -> result<void> {
      BC_TRY(found, read_checkpoint(db));
      at = found;
      return ok();
    });
    // Tables that are not as they must be: a rebuild opens this too.
    if (!read && read.error().code != errc::internal)
      return read;
    if (is_older(at))
      return fail(errc::invalid_state, not_ours(at));
    return ok();
  }

  result<void> with(
      const std::function<result<void>(sql::connection&)>& use) override {
    // Reading has no effect, so it may be repeated whole.
    BC_TRY(db, postgres::begin_on(pool_, use));
    static_cast<void>(db);
    return ok();
  }

 private:
  postgres::pool pool_;
};

}  // namespace

result<std::unique_ptr<queries>> open_postgres_queries(const std::string& url) {
  auto pool = std::make_unique<pool_source>(url);
  BC_TRYV(pool->check());
  return make_queries(std::move(pool));
}

}  // namespace bc::projections
