#include "gateway/event_page.hpp"

#include "base/json.hpp"

namespace bc::gateway {

namespace {

// A stream holds 1 MiB unsent.
constexpr std::size_t max_written = 256 * 1024;

}  // namespace

result<event_page> read_event_page(const std::string& body) {
  BC_TRY(answer, json::parse_object(body));
  json::reader from{answer};
  event_page out;
  BC_TRY(cursor, from.text("cursor"));
  out.cursor = std::move(cursor);
  auto items = answer.FindMember("items");
  if (items == answer.MemberEnd() || !items->value.IsArray())
    return fail(errc::internal, "a page without items");
  for (const auto& item : items->value.GetArray()) {
    if (!item.IsObject())
      return fail(errc::internal, "an item that is no event");
    json::reader event{item};
    BC_TRY(id, event.text("id"));
    BC_TRY(type, event.text("type"));
    // Compact JSON has no line ends, so that one `data` line holds it.
    out.frames += "id: " + id + "\nevent: " + type +
                  "\ndata: " + json::to_text(item) + "\n\n";
    // The rest is read again after this one.
    if (out.frames.size() > max_written) {
      out.cursor = std::move(id);
      break;
    }
  }
  return out;
}

}  // namespace bc::gateway
