#include "events/state_codec.hpp"

#include "base/encoding.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"

#include <variant>

namespace bc::events {

namespace {

// An event inside a state is written as it stands in the journal, so that
// there is one codec for it.
void put_event(json::writer& out, const event_write& e) {
  out.begin_object().field("typeVersion", e.type_version);
  out.key("data").raw(e.data).key("internal").raw(e.internal).end_object();
}

template <class Event, class Decode>
result<Event> read_event(const json::reader& in, std::string_view type,
                         Decode decode) {
  envelope e;
  e.type = type;
  BC_TRY(version, in.integer("typeVersion"));
  e.type_version = static_cast<int>(version);
  BC_TRY(data, in.object("data"));
  e.data = json::to_text(data.raw());
  BC_TRY(internal, in.object("internal"));
  e.internal = json::to_text(internal.raw());
  BC_TRY(any, decode(e));
  auto* event = std::get_if<Event>(&any);
  if (event == nullptr)
    return fail(errc::internal, "The state holds another event");
  return std::move(*event);
}

result<std::uint64_t> read_version(const json::reader& in) {
  BC_TRY(version, in.integer("version"));
  if (version < 0)
    return fail(errc::internal, "The state has no version");
  return static_cast<std::uint64_t>(version);
}

}  // namespace

namespace join_token {

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version).field("usesLeft", s.uses_left);
    if (s.revoked_at)
      out.field("revokedAtMs", to_millis(*s.revoked_at));
    if (s.token)
      put_event(out.key("created"), encode(event{*s.token}));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  BC_TRY(left, in.integer("usesLeft"));
  s.uses_left = left;
  BC_TRY(revoked, in.optional_integer("revokedAtMs"));
  if (revoked)
    s.revoked_at = from_millis(*revoked);
  if (in.has("created")) {
    BC_TRY(object, in.object("created"));
    BC_TRY(token,
           read_event<created>(object, name::join_token_created, &decode));
    s.token = std::move(token);
  }
  return s;
}

}  // namespace join_token

namespace node {

namespace {

void put(json::writer& out, const certificate& c) {
  out.begin_object()
      .field("serial", c.serial)
      .field("spkiSha256", c.spki_sha256)
      .field("role", pki::role_text(c.role))
      .field("generation", c.generation)
      .field("notBeforeMs", to_millis(c.not_before))
      .field("notAfterMs", to_millis(c.not_after))
      .field("statements", c.statements)
      .field("certificate", to_base64(c.der))
      .field("csrSha256", c.csr_sha256)
      .end_object();
}

result<certificate> read_certificate(const json::reader& in) {
  certificate c;
  BC_TRY(serial, in.text("serial"));
  c.serial = std::move(serial);
  BC_TRY(spki, in.text("spkiSha256"));
  c.spki_sha256 = std::move(spki);
  BC_TRY(role, codec::one_of(in, "role", pki::parse_role));
  c.role = role;
  BC_TRY(generation, in.integer("generation"));
  c.generation = generation;
  BC_TRY(not_before, codec::millis_of(in, "notBeforeMs"));
  c.not_before = not_before;
  BC_TRY(not_after, codec::millis_of(in, "notAfterMs"));
  c.not_after = not_after;
  BC_TRY(statements, in.texts("statements"));
  c.statements = std::move(statements);
  BC_TRY(der, in.base64("certificate"));
  c.der = std::move(der);
  BC_TRY(csr, in.text("csrSha256"));
  c.csr_sha256 = std::move(csr);
  return c;
}

std::optional<status> parse_status(std::string_view text) {
  for (auto s :
       {status::adopting, status::adopted, status::cordoned, status::retired})
    if (status_text(s) == text)
      return s;
  return std::nullopt;
}

}  // namespace

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version)
        .field("status", status_text(s.current))
        .field("generation", s.generation);
    if (s.node)
      put_event(out.key("joined"), encode(event{*s.node}));
    out.key("certificates").begin_array();
    for (const auto& c : s.certificates)
      put(out, c);
    out.end_array();
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  BC_TRY(current, codec::one_of(in, "status", parse_status));
  s.current = current;
  BC_TRY(generation, in.integer("generation"));
  s.generation = generation;
  if (in.has("joined")) {
    BC_TRY(object, in.object("joined"));
    BC_TRY(node, read_event<joined>(object, name::node_joined, &decode));
    s.node = std::move(node);
  }
  if (!in.has("certificates") || !in.raw()["certificates"].IsArray())
    return fail(errc::internal, "The state has no certificates");
  for (const auto& item : in.raw()["certificates"].GetArray()) {
    if (!item.IsObject())
      return fail(errc::internal, "A certificate is no object");
    BC_TRY(one, read_certificate(json::reader{item}));
    s.certificates.push_back(std::move(one));
  }
  return s;
}

}  // namespace node

}  // namespace bc::events
