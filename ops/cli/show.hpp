#pragma once

#include "base/json.hpp"
#include "ops/cli/context.hpp"
#include "ops/cli/table.hpp"

#include <vector>

/// Answers on standard output.
namespace bc::cli {

/// The items of a list answer, as JSON or as a table.
void show_list(const context& ctx, const json::document& answer,
               const std::vector<column>& columns);
/// One record, as JSON or a field a line.
void show_record(const context& ctx, const json::document& record);
/// A JSON text as it is, on a line of its own.
void show_json(const json::value& v);

}  // namespace bc::cli
