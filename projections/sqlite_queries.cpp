#include "events/sqlite.hpp"
#include "projections/queries.hpp"
#include "projections/source.hpp"

#include <mutex>

namespace bc::projections {

namespace {

class file_source final : public source {
 public:
  explicit file_source(std::unique_ptr<sqlite::connection> db)
      : db_(std::move(db)) {}

  result<void> with(
      const std::function<result<void>(sql::connection&)>& use) override {
    std::lock_guard lock{mutex_};
    return use(*db_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<sqlite::connection> db_;
};

}  // namespace

result<std::unique_ptr<queries>> open_queries(const std::string& path) {
  BC_TRY(db, sqlite::connection::open(path, sqlite::mode::read_only));
  return make_queries(std::make_unique<file_source>(std::move(db)));
}

}  // namespace bc::projections
