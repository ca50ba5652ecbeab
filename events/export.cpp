#include "events/export.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "events/checkpoint.hpp"
#include "pki/digest.hpp"

#include <utility>

namespace bc::events {

namespace {

constexpr std::string_view format = "better-compute-journal";
constexpr std::int64_t format_version = 1;

fault bad_line(std::string why) {
  return fail(errc::invalid_input, std::move(why));
}

// As JSON where reading it back gives the same bytes, else as a text, since
// the row's hash is over the bytes.
result<void> put_json(json::writer& out, std::string_view name,
                      const std::string& text) {
  auto doc = json::parse(text);
  if (!doc)
    return doc.error();
  auto again = json::to_text(doc.value());
  if (again == text)
    out.key(name).raw(text);
  else
    out.field(std::string{name} + "Text", text);
  return ok();
}

result<std::string> json_of(const json::reader& from, const std::string& name) {
  if (from.has(name + "Text"))
    return from.text(name + "Text");
  auto it = from.raw().FindMember(name.c_str());
  if (it == from.raw().MemberEnd())
    return bad_line("has no " + name);
  return json::to_text(it->value);
}

result<std::uint64_t> count_of(const json::reader& from,
                               std::string_view name) {
  BC_TRY(n, from.integer(name));
  if (n < 0)
    return bad_line("has a negative " + std::string{name});
  return static_cast<std::uint64_t>(n);
}

result<std::string> write(const export_header& h) {
  json::writer out;
  out.begin_object()
      .field("kind", "header")
      .field("format", format)
      .field("version", format_version)
      .field("incarnation", h.head.incarnation.str())
      .field("position", h.head.position)
      .field("commit", h.head.commit)
      .field("link", h.head.link)
      .field("withInternal", h.with_internal)
      .end_object();
  return out.str();
}

result<std::string> write(const export_event& line) {
  const auto& e = line.row;
  json::writer out;
  out.begin_object()
      .field("kind", "event")
      .field("position", e.position)
      .field("commit", e.commit)
      .field("stream", e.stream)
      .field("version", e.version)
      .field("type", e.type)
      .field("typeVersion", e.type_version)
      .field("tenant", e.tenant)
      .field("time", to_rfc3339(e.time))
      .field("actor", e.actor)
      .field("correlation", e.correlation)
      .field("batch", e.batch);
  BC_TRYV(put_json(out, "data", e.data));
  if (line.internal_hash) {
    out.field("internalHash", *line.internal_hash);
  } else {
    BC_TRYV(put_json(out, "internal", e.internal));
  }
  out.field("hash", e.hash).end_object();
  return out.str();
}

result<std::string> write(const export_commit& c) {
  json::writer out;
  out.begin_object()
      .field("kind", "commit")
      .field("commit", c.end.commit)
      .field("position", c.end.position)
      .field("link", c.end.link)
      .end_object();
  return out.str();
}

result<std::string> write(const checkpoint& c) {
  return checkpoint_json(c);
}

result<std::string> write(const export_end& e) {
  json::writer out;
  out.begin_object()
      .field("kind", "end")
      .field("lines", e.lines)
      .field("digest", e.digest)
      .end_object();
  return out.str();
}

result<export_line> read_header(const json::reader& from) {
  BC_TRY(name, from.text("format"));
  BC_TRY(version, from.integer("version"));
  if (name != format || version != format_version)
    return bad_line("is of a format this program does not know");
  export_header h;
  BC_TRY(incarnation_text, from.text("incarnation"));
  BC_TRY(incarnation, incarnation_id::parse(incarnation_text));
  BC_TRY(position, count_of(from, "position"));
  BC_TRY(commit, count_of(from, "commit"));
  BC_TRY(link, from.text("link"));
  BC_TRY(with_internal, from.boolean("withInternal"));
  h.head = {position, commit, std::move(link), std::move(incarnation)};
  h.with_internal = with_internal;
  return export_line{std::move(h)};
}

result<export_line> read_event(const json::reader& from) {
  export_event out;
  auto& e = out.row;
  BC_TRY(position, count_of(from, "position"));
  BC_TRY(commit, count_of(from, "commit"));
  BC_TRY(stream, from.text("stream"));
  BC_TRY(version, count_of(from, "version"));
  BC_TRY(type, from.text("type"));
  BC_TRY(type_version, from.integer("typeVersion"));
  BC_TRY(tenant, from.text("tenant"));
  BC_TRY(time_text, from.text("time"));
  BC_TRY(time, from_rfc3339(time_text));
  BC_TRY(actor, from.text("actor"));
  BC_TRY(correlation, from.text("correlation"));
  BC_TRY(batch, from.text("batch"));
  BC_TRY(data, json_of(from, "data"));
  BC_TRY(internal_hash, from.optional_text("internalHash"));
  BC_TRY(hash, from.text("hash"));
  if (internal_hash && !is_lower_hex(*internal_hash, 64))
    return bad_line("has an internalHash that is no hash");
  if (!internal_hash) {
    BC_TRY(internal, json_of(from, "internal"));
    e.internal = std::move(internal);
  }
  if (type_version < 0 || type_version > 1'000'000)
    return bad_line("has a typeVersion out of range");
  e.position = position;
  e.commit = commit;
  e.stream = std::move(stream);
  e.version = version;
  e.type = std::move(type);
  e.type_version = static_cast<int>(type_version);
  e.tenant = std::move(tenant);
  e.time = time;
  e.actor = std::move(actor);
  e.correlation = std::move(correlation);
  e.data = std::move(data);
  e.batch = std::move(batch);
  e.hash = std::move(hash);
  out.internal_hash = std::move(internal_hash);
  return export_line{std::move(out)};
}

result<export_line> read_commit(const json::reader& from) {
  BC_TRY(commit, count_of(from, "commit"));
  BC_TRY(position, count_of(from, "position"));
  BC_TRY(link, from.text("link"));
  return export_line{export_commit{{position, commit, std::move(link)}}};
}

result<export_line> read_end(const json::reader& from) {
  BC_TRY(lines, count_of(from, "lines"));
  BC_TRY(digest, from.text("digest"));
  return export_line{export_end{lines, std::move(digest)}};
}

result<export_line> read(std::string_view text) {
  auto doc = json::parse_object(text);
  if (!doc)
    return bad_line("is " + doc.error().message);
  json::reader from{doc.value()};
  BC_TRY(kind, from.text("kind"));
  if (kind == "event")
    return read_event(from);
  if (kind == "commit")
    return read_commit(from);
  if (kind == "header")
    return read_header(from);
  if (kind == "end")
    return read_end(from);
  if (kind != "checkpoint")
    return bad_line("is of an unknown kind");
  BC_TRY(c, parse_checkpoint_json(text));
  return export_line{std::move(c)};
}

}  // namespace

std::string export_event::hash() const {
  if (!internal_hash)
    return row_hash(row);
  auto digest = from_hex(*internal_hash);
  return digest ? row_hash(row, digest.value()) : std::string{};
}

result<std::string> to_text(const export_line& line) {
  auto text = std::visit([](const auto& l) { return write(l); }, line);
  if (text)
    return text;
  const auto* event = std::get_if<export_event>(&line);
  return fail(errc::internal,
              "row " + std::to_string(event ? event->row.position : 0) +
                  " holds no JSON (" + text.error().message +
                  "); run: better-compute journal verify");
}

result<export_line> parse_export_line(std::string_view text) {
  if (text.size() > max_export_line)
    return bad_line("is too long");
  BC_TRY(line, read(text));
  // No field beside them, no second way to write one.
  BC_TRY(again, to_text(line));
  if (again != text)
    return bad_line("is not in the form that is written");
  return std::move(line);
}

}  // namespace bc::events
