#pragma once

#include "actors/sync_ledger.hpp"

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

namespace bc::api_test {

/// Keeps every batch until flush(), which gives them to the journal as one
/// group: all callers have decided before the first is written.
class slow_ledger : public actors::sync_ledger {
 public:
  slow_ledger(events::journal& journal, const bc::clock& time)
      : sync_ledger(journal, time), store_(journal) {}

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    waiting_.push_back(std::move(b));
    callers_.push_back(std::move(done));
  }

  /// False when nothing waited.
  bool flush() {
    auto group = std::exchange(waiting_, {});
    auto callers = std::exchange(callers_, {});
    if (group.empty())
      return false;
    auto outcomes = store_.append(group);
    REQUIRE(outcomes);
    for (std::size_t i = 0; i < callers.size(); ++i)
      callers[i](std::move(outcomes.value()[i]));
    return true;
  }

 private:
  events::journal& store_;
  std::vector<events::batch> waiting_;
  std::vector<actors::reply_to<events::append_outcome>> callers_;
};

}  // namespace bc::api_test
