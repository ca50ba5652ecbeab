#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"
#include "events/node.hpp"
#include "projections/queries.hpp"

#include <string>
#include <string_view>
#include <vector>

/// How a node looks in answers; the same whether it comes from a read model or
/// from its stream's state.
namespace bc::actors::api {

/// The state must hold a node.
[[nodiscard]] projections::node_row row_of(const events::node::state& s);

/// What an operator should know of a node.
struct condition {
  std::string_view type;
  time_point since;
  std::string message;
};
/// Those that hold at `now`; none of a retired node, which is over.
[[nodiscard]] std::vector<condition> conditions_of(
    const projections::node_row& node, time_point now);

/// A node as it is shown at some time.
struct node_record {
  projections::node_row row;
  time_point now;
};
void put(json::writer& out, const node_record& node);
void put(json::writer& out, const projections::certificate_row& row);

}  // namespace bc::actors::api
