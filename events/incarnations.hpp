#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bc::events {

/// Which incarnation of the journal each position belongs to. An event's public
/// id and sequence name the one in force at the event's own position, whoever
/// gives them out and whenever: they never change, and none is used twice.
class incarnations {
 public:
  [[nodiscard]] static result<incarnations> load(journal& store);

  [[nodiscard]] const std::string& at(std::uint64_t position) const;
  [[nodiscard]] bool has(std::string_view incarnation) const;
  /// Of the event that began the last one; 0 while it is the first.
  [[nodiscard]] std::uint64_t last_start() const {
    return from_.rbegin()->first;
  }
  /// To be told of every event that is read after load().
  [[nodiscard]] result<void> follow(const envelope& e);

 private:
  explicit incarnations(std::string first) { from_[0] = std::move(first); }
  std::map<std::uint64_t, std::string> from_;  // position it begins at
};

}  // namespace bc::events
