#include "gateway/event_page.hpp"

#include "actors/ports.hpp"
#include "base/json.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

namespace bc::gateway {

namespace {

// A stream holds 1 MiB unsent.
constexpr std::size_t max_written = 256 * 1024;

// The position in a cursor; none in "head".
std::optional<std::uint64_t> position_of(std::string_view cursor) {
  if (cursor.empty())
    return 0;
  auto digits = cursor.substr(cursor.find('-') + 1);
  std::uint64_t position = 0;
  auto [end, bad] =
      std::from_chars(digits.data(), digits.data() + digits.size(), position);
  if (bad != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return position;
}

bool scanned_all_it_may(std::string_view from, std::string_view to) {
  auto first = position_of(from);
  auto last = position_of(to);
  return first && last && *last >= *first &&
         *last - *first >= actors::max_events_scanned;
}

// A line end in it would begin another line of the stream.
bool is_one_line(std::string_view text) {
  return text.find_first_of("\r\n") == text.npos;
}

}  // namespace

result<event_page> read_event_page(const std::string& answer,
                                   std::string_view from, std::size_t limit) {
  BC_TRY(body, json::parse_object(answer));
  event_page out;
  BC_TRY(cursor, json::reader{body}.text("cursor"));
  out.cursor = std::move(cursor);
  auto items = body.FindMember("items");
  if (items == body.MemberEnd() || !items->value.IsArray())
    return fail(errc::internal, "a page without items");
  out.more =
      items->value.Size() >= limit || scanned_all_it_may(from, out.cursor);
  for (const auto& item : items->value.GetArray()) {
    if (!item.IsObject())
      return fail(errc::internal, "an item that is no event");
    json::reader event{item};
    BC_TRY(id, event.text("id"));
    BC_TRY(type, event.text("type"));
    if (!is_one_line(id) || !is_one_line(type))
      return fail(errc::internal, "an event's id or type is of several lines");
    // Compact JSON has no line ends, so that one `data` line holds it.
    out.frames += "id: " + id + "\nevent: " + type +
                  "\ndata: " + json::to_text(item) + "\n\n";
    // The rest is read again after this one.
    if (out.frames.size() > max_written) {
      out.cursor = std::move(id);
      out.more = true;
      break;
    }
  }
  return out;
}

}  // namespace bc::gateway
