#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"
#include "events/join_request.hpp"
#include "projections/queries.hpp"

#include <optional>

/// How a join request looks in answers; the same whether it comes from a read
/// model or from its stream's state.
namespace bc::actors::api {

/// The state must hold a request.
[[nodiscard]] projections::join_request_row row_of(
    const events::join_request::state& s);

/// A join request as it is shown at some time: what ended by then is `expired`.
struct request_record {
  projections::join_request_row row;
  time_point now;
  /// Another pending request has its MAC; nothing: it was not looked for.
  std::optional<bool> same_mac = std::nullopt;
};
void put(json::writer& out, const request_record& request);

}  // namespace bc::actors::api
