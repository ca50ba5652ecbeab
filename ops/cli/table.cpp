#include "ops/cli/table.hpp"

#include "ops/cli/cells.hpp"
#include "ops/cli/display_text.hpp"

#include <algorithm>
#include <numeric>

namespace bc::cli {

namespace {

constexpr std::size_t gap = 2;
// What a cut cell keeps at least.
constexpr std::size_t least_width = 8;

using row = std::vector<cell>;

std::vector<row> read_rows(std::span<const column> columns,
                           const json::value& items, const presentation& how) {
  std::vector<row> rows;
  for (const auto& item : items.GetArray()) {
    auto& cells = rows.emplace_back();
    for (const auto& c : columns) {
      cells.push_back(c.read(item, how));
      cells.back().text = printable(cells.back().text);
    }
  }
  return rows;
}

std::vector<std::size_t> widths_of(std::span<const column> columns,
                                   const std::vector<row>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(width_of(columns[i].title));
    for (const auto& cells : rows)
      widths[i] = std::max(widths[i], width_of(cells[i].text));
  }
  return widths;
}

std::vector<column> shown_of(std::span<const column> columns,
                             const json::value& items,
                             const presentation& how) {
  std::vector<column> out;
  for (const auto& c : columns)
    if (!c.hides ||
        std::any_of(items.Begin(), items.End(), [&](const auto& item) {
          return c.read(item, how).text != nothing;
        }))
      out.push_back(c);
  return out;
}

// Takes from the widest that may shrink until all fit or none is left. An id
// is never cut: it is there to be copied.
void fit(std::vector<std::size_t>& widths, std::span<const column> columns,
         std::size_t room) {
  auto total =
      std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  for (; total > room; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].shrinks && widths[i] > least_width &&
          (widest == nullptr || widths[i] > *widest))
        widest = &widths[i];
    if (widest == nullptr)
      return;
    --*widest;
  }
}

std::string line_of(const row& cells, const std::vector<std::size_t>& widths,
                    bool colour) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto text = cut_to(cells[i].text, widths[i]);
    const auto width = width_of(text);
    line += painted(text, cells[i].how, colour);
    if (i + 1 < cells.size())
      line.append(widths[i] - width + gap, ' ');
  }
  return line + "\n";
}

std::string titles_of(std::span<const column> columns,
                      const std::vector<std::size_t>& widths, bool colour) {
  row titles;
  for (const auto& c : columns)
    titles.push_back({c.title});
  auto line = line_of(titles, widths, false);
  line.pop_back();
  return painted(line, tone::strong, colour) + "\n";
}

}  // namespace

std::string table_text(std::span<const column> all, const json::value& items,
                       const presentation& how) {
  const auto columns = shown_of(all, items, how);
  if (columns.empty())
    return {};
  const auto rows = read_rows(columns, items, how);
  auto widths = widths_of(columns, rows);
  if (how.columns > 0)
    fit(widths, columns, how.columns);
  auto out = titles_of(columns, widths, how.colour);
  for (const auto& cells : rows)
    out += line_of(cells, widths, how.colour);
  return out;
}

}  // namespace bc::cli
