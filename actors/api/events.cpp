#include "actors/api/methods.hpp"
#include "events/catalog.hpp"
#include "events/incarnations.hpp"
#include "events/journal_stream.hpp"

#include <algorithm>
#include <charconv>

namespace bc::actors::api {

namespace {

constexpr std::size_t rows_at_once = 500;

struct scan {
  exchange_ptr x;
  std::string type;         // empty: every one
  std::string correlation;  // empty: every one
  bool from_head = false;
  std::size_t limit = 100;
  std::uint64_t position = 0;  // everything up to here was looked at
  std::size_t scanned = 0;
  std::vector<std::string> found;
};
using scan_ptr = std::shared_ptr<scan>;

// A position, or an event's id or sequence, which name the incarnation too.
result<std::uint64_t> read_cursor(std::string_view text,
                                  const api_environment& env) {
  std::string_view incarnation;
  if (auto dash = text.find('-'); dash != std::string_view::npos) {
    incarnation = text.substr(0, dash);
    text.remove_prefix(dash + 1);
  }
  std::uint64_t position = 0;
  auto [end, bad] =
      std::from_chars(text.data(), text.data() + text.size(), position);
  if (bad != std::errc{} || end != text.data() + text.size())
    return fail(errc::invalid_input, "is not a position", "/cursor");
  // What was lost with a restore is not resumed from: others were given these
  // positions since.
  if (!incarnation.empty() && incarnation != env.incarnations->at(position))
    return fail(errc::invalid_input, "is of another incarnation of the journal",
                "/cursor");
  return position;
}

result<scan_ptr> read_scan(const exchange_ptr& x) {
  auto in = x->in();
  auto s = std::make_shared<scan>();
  s->x = x;
  BC_TRY(type, in.optional_text("type"));
  s->type = type.value_or("");
  const auto* known =
      s->type.empty() ? nullptr : events::find_event_type(s->type);
  if (!s->type.empty() && (!known || !known->is_public))
    return fail(errc::invalid_input, "is no public event type", "/type");
  BC_TRY(limit, in.optional_integer("limit"));
  s->limit = static_cast<std::size_t>(limit.value_or(100));
  BC_TRY(correlation, in.optional_text("correlation"));
  s->correlation = correlation.value_or("");
  BC_TRY(cursor, in.optional_text("cursor"));
  s->from_head = cursor == "head";
  if (cursor && !s->from_head) {
    BC_TRY(position, read_cursor(*cursor, *x->env));
    s->position = position;
  }
  return s;
}

// Servers are stopped before journal new-incarnation. One that was not answers
// nothing, rather than with ids that would have to change.
fault began_another() {
  return fail(errc::unavailable,
              "the journal began another incarnation since this server "
              "started; restart it");
}

// False at the start of an incarnation that is not known here.
bool is_known(const api_environment& env, const events::envelope& e) {
  auto begun = events::journal_log::begun_by(e);
  return begun && (!begun.value() || begun.value()->incarnation.str() ==
                                         env.incarnations->at(e.position));
}

void answer(const scan& s) {
  json::writer out;
  out.begin_object().key("items").begin_array();
  for (const auto& event : s.found)
    out.raw(event);
  // With its incarnation, so that it means nothing after a restore.
  out.end_array().field("cursor", s.x->env->incarnations->at(s.position) + "-" +
                                      std::to_string(s.position));
  s.x->answer(out.end_object().str());
}

void take(scan& s, const events::envelope& e) {
  s.position = e.position;
  ++s.scanned;
  if (e.tenant != s.x->who.tenant.str() ||
      (!s.type.empty() && e.type != s.type) ||
      (!s.correlation.empty() && e.correlation != s.correlation))
    return;
  if (auto text = events::to_public(e, s.x->env->incarnations->at(e.position),
                                    s.x->env->source))
    s.found.push_back(std::move(*text));
}

void look_on(const scan_ptr& s) {
  auto rows = std::min(rows_at_once, max_events_scanned - s->scanned);
  s->x->streams->events_after(
      s->position, rows,
      then(s->x, [s, rows](const std::vector<events::envelope>& page) {
        for (const auto& e : page) {
          if (!is_known(*s->x->env, e))
            return s->x->break_off(began_another());
          take(*s, e);
          if (s->found.size() >= s->limit)
            return answer(*s);
        }
        if (page.size() < rows || s->scanned >= max_events_scanned)
          return answer(*s);
        look_on(s);
      }));
}

}  // namespace

void events_list(exchange_ptr x) {
  auto read = read_scan(x);
  if (!read)
    return x->refuse(read.error());
  auto s = std::move(read).value();
  x->streams->head(then(x, [x, s](const events::head_row& head) {
    if (head.incarnation.str() != x->env->incarnations->at(head.position))
      return x->break_off(began_another());
    if (s->from_head) {
      s->position = head.position;
      return answer(*s);
    }
    if (s->position > head.position)
      return x->refuse(
          fail(errc::invalid_input, "is beyond the journal's head", "/cursor"));
    look_on(s);
  }));
}

}  // namespace bc::actors::api
