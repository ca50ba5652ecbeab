#pragma once

#include "base/result.hpp"
#include "events/boot_lease.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"

#include <string>
#include <string_view>

/// States as snapshots keep them: exact, the same text for the same state.
/// A fold version moves on whenever a codec or an evolve does; snapshots of
/// another one are thrown away.
namespace bc::events {

namespace join_token {
inline constexpr int fold_version = 2;
[[nodiscard]] std::string encode_state(const state& s);
[[nodiscard]] result<state> decode_state(std::string_view json);
}  // namespace join_token

namespace join_request {
inline constexpr int fold_version = 2;
[[nodiscard]] std::string encode_state(const state& s);
[[nodiscard]] result<state> decode_state(std::string_view json);
}  // namespace join_request

namespace boot_lease {
inline constexpr int fold_version = 1;
[[nodiscard]] std::string encode_state(const state& s);
[[nodiscard]] result<state> decode_state(std::string_view json);
}  // namespace boot_lease

namespace node {
inline constexpr int fold_version = 6;
[[nodiscard]] std::string encode_state(const state& s);
[[nodiscard]] result<state> decode_state(std::string_view json);
}  // namespace node

}  // namespace bc::events
