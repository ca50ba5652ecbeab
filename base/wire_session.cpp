#include "base/wire_session.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"

namespace bc::wire {

namespace {

constexpr std::size_t max_name = 64;  // an id, a kind, a version
constexpr std::size_t max_address = 256;
constexpr std::size_t max_payload = 16 * 1024;
constexpr std::size_t max_key = 512;
constexpr std::size_t nonce_size = 32;
constexpr std::size_t signature_size = 64;
constexpr int longest_heartbeat = 3'600;

template <class Frame>
constexpr std::string_view type_of = {};
template <>
constexpr std::string_view type_of<hello> = "hello";
template <>
constexpr std::string_view type_of<heartbeat> = "heartbeat";
template <>
constexpr std::string_view type_of<command_result> = "result";
template <>
constexpr std::string_view type_of<welcome> = "welcome";
template <>
constexpr std::string_view type_of<command> = "command";
template <>
constexpr std::string_view type_of<recorded> = "recorded";

fault invalid(std::string message, std::string path) {
  return fail(errc::invalid_input, std::move(message), std::move(path));
}

result<std::string> bounded(const json::reader& from, std::string_view name,
                            std::size_t limit) {
  BC_TRY(text, from.text(name));
  if (text.size() > limit)
    return invalid("is longer than " + std::to_string(limit) + " bytes",
                   from.path_of(name));
  return std::move(text);
}

/// A text that must be there and hold something.
result<std::string> named(const json::reader& from, std::string_view name,
                          std::size_t limit = max_name) {
  BC_TRY(text, bounded(from, name, limit));
  if (text.empty())
    return invalid("must not be empty", from.path_of(name));
  return std::move(text);
}

result<bytes> exactly(const json::reader& from, std::string_view name,
                      std::size_t size) {
  BC_TRY(data, from.base64(name));
  if (data.size() != size)
    return invalid("must be " + std::to_string(size) + " bytes",
                   from.path_of(name));
  return std::move(data);
}

void put_base64(json::writer& out, std::string_view name, byte_view data) {
  out.field(name, to_base64(data));
}

// What is inside each message, without its type.

void put(json::writer& out, const hello& m) {
  out.field("version", m.version).field("clientTime", m.client_time_ms);
  put_base64(out, "nonce", m.nonce);
}

void put(json::writer& out, const heartbeat& m) {
  out.field("number", m.number);
}

void put(json::writer& out, const command_result& m) {
  out.field("commandId", m.command_id)
      .field("succeeded", m.succeeded)
      .field("output", m.output);
}

void put(json::writer& out, const welcome& m) {
  out.field("sessionId", m.session_id)
      .field("heartbeatSeconds", m.heartbeat_seconds);
  put_base64(out, "signingKey", m.signing_key);
  out.key("serverTime").begin_object().field("time", m.time.time_ms);
  put_base64(out, "sig", m.time.signature);
  out.end_object();
}

void put(json::writer& out, const command& m) {
  put_base64(out, "body", as_bytes(m.body));
  put_base64(out, "sig", m.signature);
}

void put(json::writer& out, const recorded& m) {
  out.field("commandId", m.command_id);
}

template <class Fill>
std::string object(Fill fill) {
  json::writer out;
  out.begin_object();
  fill(out);
  out.end_object();
  return out.str();
}

template <class Frames>
std::string frame_text(const Frames& frame) {
  return std::visit(
      [](const auto& m) {
        return object([&](json::writer& out) {
          out.field("type", type_of<std::decay_t<decltype(m)>>);
          put(out, m);
        });
      },
      frame);
}

result<hello> read_hello(const json::reader& from) {
  BC_TRY(version, bounded(from, "version", max_name));
  BC_TRY(time, from.integer("clientTime"));
  BC_TRY(nonce, exactly(from, "nonce", nonce_size));
  return hello{std::move(version), time, std::move(nonce)};
}

result<heartbeat> read_heartbeat(const json::reader& from) {
  BC_TRY(number, from.integer("number"));
  if (number < 0)
    return invalid("must not be negative", from.path_of("number"));
  return heartbeat{static_cast<std::uint64_t>(number)};
}

result<command_result> read_result(const json::reader& from) {
  BC_TRY(id, named(from, "commandId"));
  BC_TRY(succeeded, from.boolean("succeeded"));
  BC_TRY(output, bounded(from, "output", max_command_output));
  return command_result{std::move(id), succeeded, std::move(output)};
}

result<welcome> read_welcome(const json::reader& from) {
  welcome m;
  BC_TRY(session, named(from, "sessionId"));
  m.session_id = std::move(session);
  BC_TRY(pause, from.integer("heartbeatSeconds"));
  if (pause < 1 || pause > longest_heartbeat)
    return invalid("must be 1 to 3600", from.path_of("heartbeatSeconds"));
  m.heartbeat_seconds = static_cast<int>(pause);
  BC_TRY(key, from.base64("signingKey"));
  if (key.empty() || key.size() > max_key)
    return invalid("must be 1 to 512 bytes", from.path_of("signingKey"));
  m.signing_key = std::move(key);
  BC_TRY(time, from.object("serverTime"));
  BC_TRY(ms, time.integer("time"));
  BC_TRY(sig, exactly(time, "sig", signature_size));
  m.time = server_time{ms, std::move(sig)};
  return m;
}

result<command> read_command(const json::reader& from) {
  BC_TRY(body, from.base64("body"));
  BC_TRY(sig, exactly(from, "sig", signature_size));
  return command{std::string{as_text(body)}, std::move(sig)};
}

result<recorded> read_recorded(const json::reader& from) {
  BC_TRY(id, named(from, "commandId"));
  return recorded{std::move(id)};
}

result<json::document> parse_frame(std::string_view frame) {
  if (frame.size() > max_session_frame)
    return invalid("the frame is larger than 64 KiB", "");
  return json::parse_object(frame);
}

template <class Frames, class Read>
result<std::optional<Frames>> as_frame(const json::reader& from, Read read) {
  BC_TRY(m, read(from));
  return std::optional<Frames>{Frames{std::move(m)}};
}

// The session and the node that a message between gateway and API is about.
struct whose {
  std::string session_id;
  std::string node_id;
};

void put_whose(json::writer& out, const std::string& session,
               const std::string& node) {
  out.field("sessionId", session).field("nodeId", node);
}

result<whose> read_whose(const json::reader& from) {
  BC_TRY(session, named(from, "sessionId"));
  BC_TRY(node, named(from, "nodeId"));
  return whose{std::move(session), std::move(node)};
}

}  // namespace

std::string encode(const from_daemon& m) {
  return frame_text(m);
}

std::string encode(const to_daemon& m) {
  return frame_text(m);
}

result<std::optional<from_daemon>> decode_from_daemon(std::string_view frame) {
  BC_TRY(doc, parse_frame(frame));
  json::reader from{doc};
  BC_TRY(type, from.text("type"));
  if (type == type_of<hello>)
    return as_frame<from_daemon>(from, read_hello);
  if (type == type_of<heartbeat>)
    return as_frame<from_daemon>(from, read_heartbeat);
  if (type == type_of<command_result>)
    return as_frame<from_daemon>(from, read_result);
  return std::optional<from_daemon>{};
}

result<std::optional<to_daemon>> decode_to_daemon(std::string_view frame) {
  BC_TRY(doc, parse_frame(frame));
  json::reader from{doc};
  BC_TRY(type, from.text("type"));
  if (type == type_of<welcome>)
    return as_frame<to_daemon>(from, read_welcome);
  if (type == type_of<heartbeat>)
    return as_frame<to_daemon>(from, read_heartbeat);
  if (type == type_of<command>)
    return as_frame<to_daemon>(from, read_command);
  if (type == type_of<recorded>)
    return as_frame<to_daemon>(from, read_recorded);
  return std::optional<to_daemon>{};
}

std::string encode(const command_body& c) {
  return object([&](json::writer& out) {
    out.field("commandId", c.command_id)
        .field("nodeId", c.node_id)
        .field("kind", c.kind)
        .key("payload")
        .raw(c.payload)
        .field("issuedAt", c.issued_at_ms)
        .field("expiresAt", c.expires_at_ms);
  });
}

result<command_body> decode_command_body(std::string_view text) {
  BC_TRY(doc, parse_frame(text));
  json::reader from{doc};
  command_body c;
  BC_TRY(id, named(from, "commandId"));
  c.command_id = std::move(id);
  BC_TRY(node, named(from, "nodeId"));
  c.node_id = std::move(node);
  BC_TRY(kind, named(from, "kind"));
  c.kind = std::move(kind);
  BC_TRY(payload, from.object("payload"));
  c.payload = json::to_text(payload.raw());
  if (c.payload.size() > max_payload)
    return invalid("is longer than 16384 bytes", "/payload");
  BC_TRY(issued, from.integer("issuedAt"));
  c.issued_at_ms = issued;
  BC_TRY(expires, from.integer("expiresAt"));
  c.expires_at_ms = expires;
  return c;
}

std::string encode(const session_hello& m) {
  return object([&](json::writer& out) {
    out.field("sessionId", m.session_id)
        .field("gatewayId", m.gateway_id)
        .field("address", m.address)
        .key("hello")
        .begin_object();
    put(out, m.message);
    out.end_object();
  });
}

std::string encode(const session_end& m) {
  return object([&](json::writer& out) {
    put_whose(out, m.session_id, m.node_id);
    out.field("reason", m.reason);
  });
}

std::string encode(const session_check& m) {
  return object(
      [&](json::writer& out) { put_whose(out, m.session_id, m.node_id); });
}

std::string encode(const fetch_commands& m) {
  return object(
      [&](json::writer& out) { put_whose(out, m.session_id, m.node_id); });
}

std::string encode(const fetched_commands& m) {
  return object([&](json::writer& out) {
    out.key("commands").begin_array();
    for (const auto& c : m.commands) {
      out.begin_object();
      put(out, c);
      out.end_object();
    }
    out.end_array();
    if (!m.allowed_kinds.empty())
      out.field("allowedKinds", m.allowed_kinds);
    if (m.more)
      out.field("more", true);
  });
}

std::string encode(const relayed_result& m) {
  return object([&](json::writer& out) {
    put_whose(out, m.session_id, m.node_id);
    out.key("result").begin_object();
    put(out, m.what);
    out.end_object();
  });
}

result<session_hello> decode_session_hello(std::string_view text) {
  BC_TRY(doc, parse_frame(text));
  json::reader from{doc};
  BC_TRY(session, named(from, "sessionId"));
  BC_TRY(gateway, named(from, "gatewayId"));
  BC_TRY(address, bounded(from, "address", max_address));
  BC_TRY(inner, from.object("hello"));
  BC_TRY(message, read_hello(inner));
  return session_hello{std::move(session), std::move(gateway),
                       std::move(address), std::move(message)};
}

result<session_end> decode_session_end(std::string_view text) {
  BC_TRY(doc, parse_frame(text));
  json::reader from{doc};
  BC_TRY(of, read_whose(from));
  BC_TRY(reason, named(from, "reason"));
  return session_end{std::move(of.session_id), std::move(of.node_id),
                     std::move(reason)};
}

result<session_check> decode_session_check(std::string_view text) {
  BC_TRY(doc, parse_frame(text));
  BC_TRY(of, read_whose(json::reader{doc}));
  return session_check{std::move(of.session_id), std::move(of.node_id)};
}

result<fetch_commands> decode_fetch_commands(std::string_view text) {
  BC_TRY(doc, parse_frame(text));
  BC_TRY(of, read_whose(json::reader{doc}));
  return fetch_commands{std::move(of.session_id), std::move(of.node_id)};
}

// What an API process says is not a frame: it may be larger than one.
result<fetched_commands> decode_fetched_commands(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  auto list = doc.FindMember("commands");
  if (list == doc.MemberEnd() || !list->value.IsArray())
    return invalid("must be an array", "/commands");
  fetched_commands out;
  for (const auto& item : list->value.GetArray()) {
    auto path = "/commands/" + std::to_string(out.commands.size());
    if (!item.IsObject())
      return invalid("must be an object", std::move(path));
    BC_TRY(one, read_command(json::reader{item, std::move(path)}));
    out.commands.push_back(std::move(one));
  }
  BC_TRY(kinds, json::reader{doc}.texts_or_none("allowedKinds"));
  out.allowed_kinds = std::move(kinds);
  if (doc.HasMember("more")) {
    BC_TRY(more, json::reader{doc}.boolean("more"));
    out.more = more;
  }
  return out;
}

result<relayed_result> decode_relayed_result(std::string_view text) {
  // One with the longest output is a little larger than the daemon's frame.
  if (text.size() > 2 * max_session_frame)
    return invalid("the message is larger than 128 KiB", "");
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  BC_TRY(of, read_whose(from));
  BC_TRY(inner, from.object("result"));
  BC_TRY(what, read_result(inner));
  return relayed_result{std::move(of.session_id), std::move(of.node_id),
                        std::move(what)};
}

}  // namespace bc::wire
