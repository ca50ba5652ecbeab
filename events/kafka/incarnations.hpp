#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bc::events::kafka {

/// Which incarnation of the journal each position belongs to: it is part of
/// the ids of the events.
class incarnations {
 public:
  [[nodiscard]] static result<incarnations> load(journal& store);

  [[nodiscard]] const std::string& at(std::uint64_t position) const;
  [[nodiscard]] bool has(std::string_view incarnation) const;
  /// To be told of every event that is read after load().
  [[nodiscard]] result<void> follow(const envelope& e);

 private:
  explicit incarnations(std::string first) { from_[0] = std::move(first); }
  std::map<std::uint64_t, std::string> from_;  // position it begins at
};

}  // namespace bc::events::kafka
