#pragma once

#include "events/journal.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace bc::actors {

/// Whose stream holds a claim, by its id (node_id, join_request_id); nullopt
/// for a stream that is of another kind.
template <class Id>
[[nodiscard]] std::optional<Id> owner_of(const events::claim_holder& holder) {
  const std::string_view stream = holder.stream;
  auto id = Id::parse(stream.substr(stream.find(':') + 1));
  return id ? std::optional{std::move(id).value()} : std::nullopt;
}

}  // namespace bc::actors
