#pragma once

#include "base/clock.hpp"
#include "events/kafka/properties.hpp"
#include "events/kafka/record.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::events::kafka {

/// A message that Kafka refused.
struct undelivered {
  std::uint64_t tag = 0;
  bool too_large = false;
};

/// An idempotent producer, transactional when it has an id. After a fault it
/// is of no more use: destroy it. Destroying leaves an open transaction to the
/// brokers, which abort it when the next producer of this id starts.
class producer {
 public:
  [[nodiscard]] static result<std::unique_ptr<producer>> make(
      properties client, const std::string& transactional_id);
  virtual ~producer() = default;

  /// Ends the transactions of earlier producers of this id, which are fenced
  /// from then on.
  [[nodiscard]] virtual result<void> init_transactions(
      const keep_going& go_on) = 0;
  /// Asks for the topics once, so that the first message need not wait.
  virtual void look_up(const std::vector<std::string>& topics) = 0;
  [[nodiscard]] virtual result<void> begin() = 0;

  enum class sending { queued, too_large };
  /// `tag` comes back in failure(). Waits while too much is on its way.
  [[nodiscard]] virtual result<sending> send(const record& r, std::uint64_t tag,
                                             const keep_going& go_on) = 0;
  /// Waits until everything sent was delivered.
  [[nodiscard]] virtual result<void> flush(const keep_going& go_on) = 0;
  /// After flush(). A fault leaves the outcome unknown.
  [[nodiscard]] virtual result<void> commit(const keep_going& go_on) = 0;

  /// The first message that was not delivered.
  [[nodiscard]] virtual std::optional<undelivered> failure() const = 0;
};

}  // namespace bc::events::kafka
