#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"
#include "events/command.hpp"
#include "projections/queries.hpp"

/// How a command looks in answers; the same whether it comes from the read
/// model or from its stream's state.
namespace bc::actors::api {

/// The state must hold a command.
[[nodiscard]] projections::command_row row_of(const events::command::state& s);

/// A command as it is shown at some time.
struct command_record {
  projections::command_row row;
  time_point now;
};
void put(json::writer& out, const command_record& command);

}  // namespace bc::actors::api
