#include "ops/cli/show.hpp"

#include "ops/cli/cells.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/terminal.hpp"

#include <iostream>

namespace bc::cli {

void show_json(const json::value& v) {
  std::cout << printable_json(json::to_text(v)) << "\n";
}

void show_list(const context& ctx, const json::document& answer,
               const std::vector<column>& columns) {
  if (ctx.json())
    return show_json(answer);
  const auto& items = member_of(answer, "items");
  if (items.IsArray())
    std::cout << table_text(columns, items, presentation_of_output(ctx.utc));
  if (const auto& cursor = member_of(answer, "cursor"); cursor.IsString())
    warn("there is more: --limit N, or --cursor " +
         std::string{cursor.GetString()});
}

void show_record(const context& ctx, const json::document& record) {
  if (ctx.json())
    return show_json(record);
  // For programs and the profile; it tells a person nothing.
  json::document shown;
  shown.CopyFrom(record, shown.GetAllocator());
  shown.RemoveMember("position");
  std::cout << record_text(shown, presentation_of_output(ctx.utc));
}

}  // namespace bc::cli
