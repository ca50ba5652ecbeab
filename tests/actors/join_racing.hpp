#pragma once

#include "tests/actors/join_world.hpp"

#include <deque>
#include <random>

// Ledgers that let joins meet.
namespace bc::test {

/// Runs something else just before the next append.
class racing_ledger : public sync_ledger {
 public:
  using sync_ledger::sync_ledger;
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    ++appends;
    if (b.has_events() || race_confirmations) {
      if (auto race = std::exchange(before_append, nullptr))
        race();
      if (always)
        always();
    }
    sync_ledger::append(std::move(b), std::move(done));
  }
  std::function<void()> before_append;
  std::function<void()> always;
  bool race_confirmations = false;
  int appends = 0;
};

/// A ledger whose answers come later, in an order drawn from a seed, so that
/// many joins are under way at once.
class shuffled_ledger : public sync_ledger {
 public:
  shuffled_ledger(events::journal& j, const clock& t, unsigned seed)
      : sync_ledger(j, t), random_(seed) {}

  void token(const join_token_id& id,
             actors::reply_to<actors::shared_state<events::join_token::state>>
                 done) override {
    later([=, this] { sync_ledger::token(id, done); });
  }
  void pool(const pool_id& id,
            actors::reply_to<actors::shared_state<events::pool::state>> done)
      override {
    later([=, this] { sync_ledger::pool(id, done); });
  }
  void holder(
      std::string claim,
      actors::reply_to<std::optional<events::claim_holder>> done) override {
    later([=, this] { sync_ledger::holder(claim, done); });
  }
  void node(const node_id& id,
            actors::reply_to<actors::shared_state<events::node::state>> done)
      override {
    later([=, this] { sync_ledger::node(id, done); });
  }
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    later([=, this] { sync_ledger::append(b, done); });
  }
  void run_all() {
    while (!waiting_.empty()) {
      std::uniform_int_distribution<std::size_t> any(0, waiting_.size() - 1);
      std::swap(waiting_[any(random_)], waiting_.back());
      auto next = std::move(waiting_.back());
      waiting_.pop_back();
      next();
    }
  }

 private:
  void later(std::function<void()> work) {
    waiting_.push_back(std::move(work));
  }
  std::deque<std::function<void()>> waiting_;
  std::mt19937 random_;
};

/// Joins of a world that others come between.
template <class World>
struct racing_in : World {
  std::shared_ptr<racing_ledger> racing =
      std::make_shared<racing_ledger>(*this->journal, this->time);

  tried join_racing(const wire::join_request& r) {
    auto plain = std::exchange(this->ledger, racing);
    auto out = this->join(r);
    this->ledger = plain;
    return out;
  }
  /// A whole join by the plain ledger, from within another.
  wire::join_answer join_aside(const wire::join_request& r) {
    wire::join_answer out;
    actors::run_join(this->environment(),
                     std::make_shared<sync_ledger>(*this->journal, this->time),
                     {wire::encode(r), "req-2"},
                     [&](wire::join_answer a) { out = std::move(a); });
    return out;
  }
};

using racing_world = racing_in<join_world>;

}  // namespace bc::test
