#include "daemon/node_status.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <array>

namespace bc::daemon {

namespace {

constexpr std::array<std::pair<renewal_state, std::string_view>, 5> states = {{
    {renewal_state::fine, "fine"},
    {renewal_state::retrying, "retrying"},
    {renewal_state::refused, "refused"},
    {renewal_state::rejoining, "rejoining"},
    {renewal_state::expired, "expired"},
}};

std::optional<std::string> text_of(const std::optional<time_point>& t) {
  return t ? std::optional{to_rfc3339(*t)} : std::nullopt;
}

result<std::optional<time_point>> optional_time(const json::reader& from,
                                                std::string_view name) {
  BC_TRY(text, from.optional_text(name));
  if (!text)
    return std::optional<time_point>{};
  BC_TRY(time, from_rfc3339(*text));
  return std::optional{time};
}

result<time_point> time(const json::reader& from, std::string_view name) {
  BC_TRY(text, from.text(name));
  return from_rfc3339(text);
}

}  // namespace

std::string_view state_text(renewal_state s) noexcept {
  for (const auto& [state, text] : states)
    if (state == s)
      return text;
  return "unknown";
}

std::string encode(const node_status& s) {
  std::optional<std::int64_t> offset;
  if (s.clock_offset)
    offset = s.clock_offset->count();
  json::writer out;
  out.begin_object()
      .field("nodeId", s.node_id)
      .field("state", state_text(s.state))
      .field("why", s.why)
      .field("notAfter", to_rfc3339(s.not_after))
      .field("nextRenewal", to_rfc3339(s.next_renewal))
      .field("lastAttempt", text_of(s.last_attempt))
      .field("lastRenewal", text_of(s.last_renewal))
      .field("clockOffsetMs", offset)
      .field("offsetLearnt", text_of(s.offset_learnt))
      .field("session", s.session)
      .field("sessionRefused", s.session_refused)
      .end_object();
  return out.str() + "\n";
}

result<node_status> decode_node_status(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  node_status out;
  BC_TRY(node, from.text("nodeId"));
  BC_TRY(state, from.text("state"));
  BC_TRY(why, from.text("why"));
  BC_TRY(not_after, time(from, "notAfter"));
  BC_TRY(next, time(from, "nextRenewal"));
  BC_TRY(attempt, optional_time(from, "lastAttempt"));
  BC_TRY(renewal, optional_time(from, "lastRenewal"));
  BC_TRY(offset, from.optional_integer("clockOffsetMs"));
  BC_TRY(learnt, optional_time(from, "offsetLearnt"));
  BC_TRY(session, from.text("session"));
  BC_TRY(refused, from.boolean("sessionRefused"));
  const auto* known =
      std::find_if(states.begin(), states.end(),
                   [&](const auto& row) { return row.second == state; });
  if (known == states.end())
    return fail(errc::invalid_input, "is not a state", "/state");
  out.node_id = node;
  out.state = known->first;
  out.why = why;
  out.not_after = not_after;
  out.next_renewal = next;
  out.last_attempt = attempt;
  out.last_renewal = renewal;
  if (offset)
    out.clock_offset = milliseconds{*offset};
  out.offset_learnt = learnt;
  out.session = session;
  out.session_refused = refused;
  return out;
}

std::string summary(const node_status& s) {
  auto expiry = "certificate expires " + to_rfc3339(s.not_after);
  auto session = s.session.empty() ? std::string{} : "; session: " + s.session;
  switch (s.state) {
    case renewal_state::fine:
      return s.node_id + ": " + expiry + ", renewed about " +
             to_rfc3339(s.next_renewal) + session;
    case renewal_state::retrying:
      return s.node_id + ": renewal fails (" + s.why + "); " + expiry + session;
    case renewal_state::refused:
      return s.node_id + ": the server refuses to renew; " + expiry + session;
    case renewal_state::rejoining:
      return s.node_id + ": the certificate expired at " +
             to_rfc3339(s.not_after) + "; joining again by it" +
             (s.why.empty() ? "" : " (" + s.why + ")");
    case renewal_state::expired:
      return s.node_id + ": " + s.why;
  }
  return s.node_id;
}

}  // namespace bc::daemon
