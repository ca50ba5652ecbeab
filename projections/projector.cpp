#include "projections/projector.hpp"

#include "projections/apply.hpp"

namespace bc::projections {

namespace {

class projector final : public events::inline_projector {
 public:
  result<void> prepare(sqlite::connection& db) override {
    return db.execute(creation_script(""));
  }

  result<void> apply(sqlite::connection& db,
                     const events::envelope& event) override {
    return projections::apply(db, live_statements(), event);
  }
};

}  // namespace

std::unique_ptr<events::inline_projector> make_projector() {
  return std::make_unique<projector>();
}

}  // namespace bc::projections
