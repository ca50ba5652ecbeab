#pragma once

#include "events/incarnations.hpp"
#include "events/kafka/control.hpp"
#include "events/kafka/producer.hpp"
#include "events/kafka/publisher.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <span>

namespace bc::events::kafka {

/// What a publisher knows beyond one producer's life.
struct publisher_memory {
  /// Kafka refused these for their size.
  std::set<std::uint64_t> too_large;
  /// Up to here one event goes in a transaction, to find the one too large.
  std::uint64_t singly_until = 0;
};

/// What one transaction carried.
struct published_batch {
  std::uint64_t events = 0;
  std::vector<std::uint64_t> parked;
};

/// One producer's life: from fencing its predecessor to its first fault, after
/// which it must be thrown away and the control topic read again.
class publisher_session {
 public:
  /// open() without fencing anybody: INVALID_STATE when what was published
  /// and the journal do not fit together.
  [[nodiscard]] static result<void> look(const publisher_options& options,
                                         cluster& brokers, journal& store,
                                         const keep_going& go_on);
  /// INVALID_STATE as look().
  [[nodiscard]] static result<std::unique_ptr<publisher_session>> open(
      const publisher_options& options, cluster& brokers, journal& store,
      publisher_memory& memory, const keep_going& go_on);

  /// Everything up to here was published, or has no public form.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t checkpoint() const {
    return recorded_.checkpoint;
  }
  /// How many events the next transaction may carry.
  [[nodiscard]] std::size_t batch_limit() const;

  /// Publishes the events that follow position(), and checkpoints, in one
  /// transaction, unless `still_ours` says no before the commit.
  [[nodiscard]] result<published_batch> publish(
      std::span<const envelope> rows,
      std::span<const events::checkpoint> signed_heads,
      const keep_going& still_ours);

 private:
  [[nodiscard]] result<published_batch> transact(
      std::span<const envelope> rows,
      std::span<const events::checkpoint> signed_heads,
      const keep_going& still_ours);
  publisher_session(const publisher_options& options, incarnations known,
                    publisher_memory& memory, const keep_going& go_on)
      : options_(options),
        known_(std::move(known)),
        memory_(memory),
        go_on_(go_on) {}
  [[nodiscard]] result<void> send_event(const envelope& e, record r,
                                        published_batch& out);
  [[nodiscard]] result<void> send_parked(const envelope& e, std::size_t size,
                                         published_batch& out);
  [[nodiscard]] result<void> send_small(const record& r);
  void learn_from_failure(std::span<const envelope> rows);

  const publisher_options& options_;
  incarnations known_;
  publisher_memory& memory_;
  const keep_going& go_on_;
  std::unique_ptr<producer> producer_;
  std::uint64_t position_ = 0;
  control_record recorded_;
};

}  // namespace bc::events::kafka
