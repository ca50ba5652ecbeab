#include "events/codec.hpp"

namespace bc::events::codec {

namespace {

std::string describe(const envelope& e) {
  return "event " + std::to_string(e.position) + " of " + e.stream + " (" +
         e.type + " version " + std::to_string(e.type_version) + ")";
}

}  // namespace

fault unknown_event(const envelope& e) {
  return fail(errc::internal, describe(e) + " is of an unknown type");
}

fault unreadable(const envelope& e, const fault& why) {
  auto where = why.path.empty() ? std::string{} : why.path + " ";
  return fail(errc::internal,
              describe(e) + " cannot be read: " + where + why.message);
}

result<time_point> time_of(const json::reader& from, std::string_view name) {
  BC_TRY(text, from.text_view(name));
  return from_rfc3339(text);
}

result<time_point> millis_of(const json::reader& from, std::string_view name) {
  BC_TRY(ms, from.integer(name));
  return from_millis(ms);
}

}  // namespace bc::events::codec
