#pragma once

#include "base/json.hpp"
#include "ops/cli/context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bc::cli {

/// A record that becomes something later, of its own accord: a command adds
/// --wait, which asks again until its `status` is no longer "pending".
struct pending_record {
  std::string method;  // that answers it again
  /// The fields of its input, and of which field of the record each is made.
  std::vector<std::pair<std::string, std::string>> input;
};

/// The record as it is in the end; nullopt when it could not be had, which was
/// then reported. One that ended otherwise than "succeeded" makes the exit code
/// `refused`. It ends by itself: what nobody answers expires.
[[nodiscard]] std::optional<json::document> wait_for_end(
    context& ctx, std::string_view group, const pending_record& how,
    json::document record);

}  // namespace bc::cli
