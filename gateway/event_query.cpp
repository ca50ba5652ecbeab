#include "gateway/event_query.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace bc::gateway {

namespace {

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    auto digits = text.substr(i + 1, 2);
    unsigned value = 0;
    auto [end, bad] = std::from_chars(digits.data(),
                                      digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || bad != std::errc{} ||
        end != digits.data() + digits.size())
      return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

// Ids, types and cursors are; what is not would be no JSON text.
bool is_good(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < '\x7f';
  });
}

void put(json::writer& out, std::string_view name, const std::string& value) {
  if (!value.empty())
    out.field(name, value);
}

}  // namespace

std::string event_query::list_body(int limit) const {
  json::writer out;
  out.begin_object();
  put(out, "tenantId", tenant);
  put(out, "type", type);
  put(out, "cursor", cursor);
  out.field("limit", limit);
  return out.end_object().str();
}

result<event_query> read_event_query(const http_request& request) {
  std::map<std::string, std::string, std::less<>> given;
  std::string_view rest = request.query;
  while (!rest.empty()) {
    auto one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    auto name = std::string{one.substr(0, one.find('='))};
    auto value =
        unescaped(name.size() < one.size() ? one.substr(name.size() + 1) : "");
    if (name != "type" && name != "cursor" && name != "tenantId")
      return fail(errc::invalid_input,
                  "the query takes type, cursor and tenantId alone");
    if (!value || !is_good(*value))
      return fail(errc::invalid_input, "?" + name + "= has no good value");
    if (!given.emplace(name, std::move(*value)).second)
      return fail(errc::invalid_input, "?" + name + "= is given twice");
  }
  event_query out{given["tenantId"], given["type"], given["cursor"]};
  auto last = request.headers.find("last-event-id");
  if (last == request.headers.end() || last->second.empty())
    return out;
  if (!is_good(last->second))
    return fail(errc::invalid_input, "Last-Event-ID is not an event's id");
  out.cursor = last->second;
  return out;
}

}  // namespace bc::gateway
