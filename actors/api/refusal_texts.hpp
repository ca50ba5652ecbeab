#pragma once

#include "events/refusal_reason.hpp"

#include <string_view>

/// The closed list of reasons in words, for whoever may know why.
namespace bc::actors::api {

/// What the reason says, as one sentence.
[[nodiscard]] std::string_view meaning_of(events::refusal_reason r) noexcept;
/// What an operator does about it.
[[nodiscard]] std::string_view advice_on(events::refusal_reason r) noexcept;

}  // namespace bc::actors::api
