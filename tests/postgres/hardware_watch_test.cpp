// The warning of shared hardware, with all of it in Postgres.
#include "tests/postgres/read_models.hpp"

namespace bc::testing {

class followed_postgres : public postgres_store {
 public:
  followed_postgres() { models.follow(*store); }
  std::unique_ptr<projections::queries> queries() {
    models.settle(*store);
    return models.queries();
  }
};

using shared_hardware_store = followed_postgres;

}  // namespace bc::testing

#include "tests/support/shared_hardware_cases.hpp"
