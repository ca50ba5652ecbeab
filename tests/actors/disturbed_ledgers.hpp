#pragma once

#include "actors/sync_ledger.hpp"
#include "events/node.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

// Ledgers in which something is amiss at the moment that a test chooses.
namespace bc::test {

/// Something else happens before an append.
class interrupted_ledger final : public actors::sync_ledger {
 public:
  using sync_ledger::sync_ledger;

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    ++appends;
    if (fails)
      return done(fail(errc::unavailable, "no store"));
    if (auto run = std::exchange(meanwhile, nullptr))
      run();
    sync_ledger::append(std::move(b), std::move(done));
  }

  std::function<void()> meanwhile;  // before the next append, once
  bool fails = false;               // no append is written
  int appends = 0;
};

/// In place of a world's own; over what that one has.
template <class World>
std::shared_ptr<interrupted_ledger> interrupt(World& w) {
  auto l =
      std::make_shared<interrupted_ledger>(*w.store, w.time, w.reader.get());
  w.use(l);
  return l;
}

/// One node's stream cannot be read.
class damaged_ledger final : public actors::sync_ledger {
 public:
  using sync_ledger::sync_ledger;

  void node(const node_id& id,
            actors::reply_to<actors::shared_state<events::node::state>> done)
      override {
    if (id == bad)
      return done(fail(trouble, "The node cannot be read"));
    sync_ledger::node(id, std::move(done));
  }

  node_id bad;
  errc trouble = errc::internal;
};

/// Hands out a node as it was before something happened elsewhere, until an
/// append was turned away.
class behind_ledger final : public actors::sync_ledger {
 public:
  using sync_ledger::sync_ledger;

  void node(const node_id& id,
            actors::reply_to<actors::shared_state<events::node::state>> done)
      override {
    if (old && (!of || *of == id))
      return done(std::exchange(old, nullptr));
    sync_ledger::node(id, std::move(done));
  }

  actors::shared_state<events::node::state> old;
  std::optional<node_id> of;  // nullopt: the first that is asked for
};

}  // namespace bc::test
