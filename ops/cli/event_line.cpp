#include "ops/cli/event_line.hpp"

#include "ops/cli/display_text.hpp"

namespace bc::cli {

std::string event_line(const json::value& event) {
  json::reader from{event};
  auto time = from.text("time");
  auto type = from.text("type");
  std::string line =
      (time ? time.value() : "-") + "  " + (type ? type.value() : "-");
  auto data = from.object("data");
  if (!data)
    return printable(line);
  for (const auto& m : data.value().raw().GetObject()) {
    // Empty values say nothing to a reader of a terminal.
    if (m.value.IsString() && m.value.GetStringLength() == 0)
      continue;
    line += "  " + std::string{m.name.GetString()} + "=";
    line += m.value.IsString() ? std::string{m.value.GetString()}
                               : json::to_text(m.value);
  }
  return printable(line);
}

}  // namespace bc::cli
