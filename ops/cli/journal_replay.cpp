#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/journal_chain.hpp"
#include "events/journal_stream.hpp"
#include "events/stream_fold.hpp"
#include "events/streams.hpp"
#include "ops/cli/journal.hpp"
#include "ops/cli/state_change.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>

namespace bc::cli {

namespace {

using events::envelope;

constexpr std::size_t page = 1000;
// Certificates and answers are long; --output json has them whole.
constexpr std::size_t widest = 100;

struct limit {
  std::optional<std::uint64_t> position;
  std::optional<time_point> time;

  [[nodiscard]] bool admits(const envelope& e) const {
    return (!position || e.position <= *position) && (!time || e.time <= *time);
  }
};

result<limit> parse_until(const std::string& text) {
  limit out;
  if (text.empty())
    return out;
  if (text.find_first_not_of("0123456789") != std::string::npos) {
    auto time = from_rfc3339(text);
    if (!time)
      return fail(errc::invalid_input,
                  "--until is a position (4711) or a time "
                  "(2026-11-29T18:00:00Z)");
    out.time = time.value();
    return out;
  }
  std::uint64_t position = 0;
  auto [stop, failed] =
      std::from_chars(text.data(), text.data() + text.size(), position);
  if (failed != std::errc{})
    return fail(errc::invalid_input, "--until is beyond any position");
  out.position = position;
  return out;
}

// The state after each event. Without what is internal no fold can be made:
// then it is what the events' data says, the last one winning.
class replayed {
 public:
  replayed(std::unique_ptr<events::stream_fold> fold, bool with_internal)
      : fold_(std::move(fold)), with_internal_(with_internal) {
    data_.SetObject();
  }

  result<std::string> add(const envelope& e, bool has_internal) {
    if (has_internal) {
      auto applied = fold_->apply(e);
      if (applied)
        return fold_->state_json(with_internal_);
      auto why = std::move(applied).error();
      why.message = "row " + std::to_string(e.position) +
                    " cannot be replayed: " + why.message + " (" + why.detail +
                    ")";
      return why;
    }
    BC_TRY(doc, json::parse_object(e.data));
    auto& pool = data_.GetAllocator();
    for (const auto& m : doc.GetObject()) {
      data_.RemoveMember(m.name);
      data_.AddMember(json::value{m.name, pool}, json::value{m.value, pool},
                      pool);
    }
    return json::to_text(data_);
  }

  [[nodiscard]] std::string start(bool has_internal) const {
    return has_internal ? fold_->state_json(with_internal_) : "{}";
  }

 private:
  std::unique_ptr<events::stream_fold> fold_;
  bool with_internal_;
  json::document data_;
};

std::string cell(const std::string& json_text) {
  if (json_text.empty())
    return "-";
  if (json_text.size() <= widest)
    return json_text;
  auto end = widest;
  // Not within a character.
  while (end > 0 && (static_cast<unsigned char>(json_text[end]) & 0xc0) == 0x80)
    --end;
  return json_text.substr(0, end) + "…";
}

std::string readable(std::string path) {
  path.erase(0, 1);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

class printer {
 public:
  printer(const context& ctx, bool with_internal)
      : ctx_(ctx), with_internal_(with_internal) {}

  void event(const envelope& e, bool has_internal, const std::string& state,
             const std::vector<state_change>& changed) const {
    if (ctx_.json())
      return as_json(e, has_internal, state, changed);
    std::cout << "row " << e.position << "  " << to_rfc3339(e.time) << "  "
              << e.type << "  version " << e.version << "  by " << e.actor
              << "  request " << e.correlation << "\n";
    std::size_t width = 0;
    for (const auto& c : changed)
      width = std::max(width, c.path.size() - 1);
    for (const auto& c : changed)
      std::cout << "  " << readable(c.path)
                << std::string(width + 3 - c.path.size() + 1, ' ')
                << cell(c.before) << " -> " << cell(c.after) << "\n";
  }

  void last(const envelope& e, bool has_internal,
            const flat_state& state) const {
    if (ctx_.json())
      return;
    std::cout << "\nstate of " << e.stream << " after row " << e.position
              << (has_internal ? ""
                               : ", as far as it is public (the export has no "
                                 "`internal`)")
              << "\n";
    std::size_t width = 0;
    for (const auto& [path, value] : state)
      width = std::max(width, path.size() - 1);
    for (const auto& [path, value] : state)
      std::cout << "  " << readable(path)
                << std::string(width + 3 - path.size() + 1, ' ') << cell(value)
                << "\n";
  }

 private:
  void as_json(const envelope& e, bool has_internal, const std::string& state,
               const std::vector<state_change>& changed) const {
    json::writer out;
    out.begin_object()
        .field("position", e.position)
        .field("time", to_rfc3339(e.time))
        .field("stream", e.stream)
        .field("version", e.version)
        .field("type", e.type)
        .field("actor", e.actor)
        .field("correlation", e.correlation);
    out.key("data").raw(e.data);
    if (with_internal_ && has_internal)
      out.key("internal").raw(e.internal);
    out.key("changes").begin_array();
    for (const auto& c : changed) {
      out.begin_object().field("path", c.path);
      if (!c.before.empty())
        out.key("old").raw(c.before);
      if (!c.after.empty())
        out.key("new").raw(c.after);
      out.end_object();
    }
    out.end_array();
    out.field("stateIsPublicPart", !has_internal);
    out.key("state").raw(state).end_object();
    std::cout << out.str() << "\n";
  }

  const context& ctx_;
  bool with_internal_;
};

// What is done with each event of the stream, in order.
class replay {
 public:
  replay(const context& ctx, const replay_options& o, limit until,
         std::unique_ptr<events::stream_fold> fold)
      : until_(until),
        state_(std::move(fold), o.with_internal),
        out_(ctx, o.with_internal) {}

  /// False: no later one is wanted.
  result<bool> add(const envelope& e, bool has_internal) {
    if (!until_.admits(e))
      return false;
    if (!last_) {
      BC_TRY(start, flatten(state_.start(has_internal)));
      now_ = std::move(start);
    }
    BC_TRY(text, state_.add(e, has_internal));
    BC_TRY(after, flatten(text));
    out_.event(e, has_internal, text, changes(now_, after));
    now_ = std::move(after);
    last_ = e;
    has_internal_ = has_internal;
    return true;
  }

  result<void> finish(const events::stream_id& stream) const {
    if (!last_)
      return fail(errc::not_found, "no event of " + stream + " is there");
    out_.last(*last_, has_internal_, now_);
    return ok();
  }

 private:
  limit until_;
  replayed state_;
  printer out_;
  flat_state now_;
  std::optional<envelope> last_;
  bool has_internal_ = true;
};

result<void> replay_store(const std::string& url,
                          const events::stream_id& stream, replay& r) {
  BC_TRY(journal, open_for_reading(url));
  std::uint64_t version = 0;
  for (;;) {
    BC_TRY(rows, journal->read_stream(stream, version, page));
    for (const auto& e : rows) {
      if (events::row_hash(e) != e.hash)
        return events::detail::bad_row(e.position, "is altered");
      BC_TRY(more, r.add(e, true));
      if (!more)
        return r.finish(stream);
      version = e.version;
    }
    if (rows.size() < page)
      return r.finish(stream);
  }
}

result<void> replay_export(const std::string& path,
                           const events::stream_id& stream, replay& r) {
  events::verify_request against;
  against.effects = events::moves_of;
  // Nothing is shown of an export that does not verify.
  BC_TRY(whole, read_export_file(path, against));
  static_cast<void>(whole);
  bool wanted = true;
  BC_TRY(again,
         read_export_file(path, against,
                          [&](const events::export_event& e) -> result<void> {
                            if (!wanted || e.row.stream != stream)
                              return ok();
                            BC_TRY(more, r.add(e.row, !e.internal_hash));
                            wanted = more;
                            return ok();
                          }));
  static_cast<void>(again);
  return r.finish(stream);
}

template <class Id>
std::optional<events::stream_id> stream_if(std::string_view text) {
  if (auto id = Id::parse(text))
    return events::stream_of(id.value());
  return std::nullopt;
}

}  // namespace

result<events::stream_id> stream_named(std::string_view text) {
  using find = std::optional<events::stream_id> (*)(std::string_view);
  constexpr find kinds[] = {stream_if<join_token_id>, stream_if<node_id>,
                            stream_if<pool_id>,       stream_if<site_id>,
                            stream_if<tenant_id>,     stream_if<credential_id>};
  for (auto find_in : kinds)
    if (auto stream = find_in(text))
      return std::move(*stream);
  // A kind that is known, whatever the id.
  if (events::make_stream_fold(text))
    return events::stream_id{text};
  return fail(errc::invalid_input,
              "--stream is an id (jt_…, node_…, pool_…, site_…, ten_…, bck_…) "
              "or a stream's name (refusal:…, pki, journal)");
}

void replay_journal(context& ctx, const replay_options& o) {
  if (!is_given(ctx, o.source))
    return;
  // Checked as a whole first, then read again.
  if (o.source.from == "-")
    return report(ctx,
                  fail(errc::invalid_input,
                       "replay reads an export twice: --from takes a file"),
                  usage);
  auto stream = stream_named(o.stream);
  if (!stream)
    return report(ctx, stream.error(), usage);
  auto until = parse_until(o.until);
  if (!until)
    return report(ctx, until.error(), usage);
  replay r{ctx, o, until.value(), events::make_stream_fold(stream.value())};
  auto done = o.source.is_export()
                  ? replay_export(o.source.from, stream.value(), r)
                  : replay_store(o.source.url, stream.value(), r);
  if (!done)
    report(ctx, done.error());
}

}  // namespace bc::cli
