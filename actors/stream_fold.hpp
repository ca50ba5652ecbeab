#pragma once

#include "actors/messages.hpp"
#include "events/stream_fold.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::actors {

/// The state of one stream, and what follows from it. No CAF, no I/O.
class stream_fold {
 public:
  explicit stream_fold(std::unique_ptr<events::stream_fold> fold)
      : fold_(std::move(fold)) {}

  [[nodiscard]] std::uint64_t version() const { return fold_->version(); }
  [[nodiscard]] any_state state() const { return fold_->state(); }
  [[nodiscard]] result<void> apply(const events::envelope& e);
  [[nodiscard]] std::optional<events::snapshot> to_snapshot() const {
    return fold_->to_snapshot();
  }
  [[nodiscard]] bool restore(const events::snapshot& s) {
    return fold_->restore(s);
  }
  /// What the system must append because of the state, pinned to its version;
  /// nullopt: nothing.
  [[nodiscard]] result<std::optional<events::batch>> follow_up(
      time_point now) const;

 private:
  std::unique_ptr<events::stream_fold> fold_;
  std::string last_correlation_;
};

/// An empty fold; null for a kind of stream that no actor holds.
[[nodiscard]] std::unique_ptr<stream_fold> make_fold(std::string_view stream);

}  // namespace bc::actors
