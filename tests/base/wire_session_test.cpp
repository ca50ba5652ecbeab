// spec: DESIGN section 7 (sessions): frames, bounds, unknown types ignored
#include "tests/base/session_samples.hpp"
#include "tests/base/wire_checks.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace session_samples;

namespace {

using bc::test::swapped;
using wire::from_daemon;
using wire::to_daemon;

/// A row fixes one field of a good text; the fault names it.
struct bad_field {
  std::string text;
  std::string path;
};

template <class Decode>
void check_bad(Decode decode, const std::vector<bad_field>& rows) {
  for (const auto& row : rows) {
    INFO(row.text.substr(0, 300));
    wire_samples::check_bad(decode(row.text), row.path);
  }
}

template <class Frame, class Frames>
Frame again(const Frame& sent,
            result<std::optional<Frames>> (*decode)(std::string_view)) {
  auto got = decode(wire::encode(Frames{sent}));
  REQUIRE(got);
  REQUIRE(got.value());
  REQUIRE(std::holds_alternative<Frame>(*got.value()));
  return std::get<Frame>(*got.value());
}

std::string of_daemon(const from_daemon& m) {
  return wire::encode(m);
}
std::string of_gateway(const to_daemon& m) {
  return wire::encode(m);
}

}  // namespace

TEST_CASE("session: what a daemon says round-trips") {
  auto h = again(hello(), wire::decode_from_daemon);
  CHECK(h.version == hello().version);
  CHECK(h.client_time_ms == hello().client_time_ms);
  CHECK(h.nonce == hello().nonce);
  CHECK(again(heartbeat(), wire::decode_from_daemon).number == 7);
  auto r = again(command_result(), wire::decode_from_daemon);
  CHECK(r.command_id == command_result().command_id);
  CHECK(r.succeeded);
  CHECK(r.output == command_result().output);
}

TEST_CASE("session: what a gateway says round-trips") {
  auto w = again(welcome(), wire::decode_to_daemon);
  CHECK(w.session_id == welcome().session_id);
  CHECK(w.heartbeat_seconds == 15);
  CHECK(w.signing_key == welcome().signing_key);
  CHECK(w.time.time_ms == welcome().time.time_ms);
  CHECK(w.time.signature == welcome().time.signature);
  CHECK(again(heartbeat(), wire::decode_to_daemon).number == 7);
  auto c = again(command(), wire::decode_to_daemon);
  CHECK(c.body == command().body);
  CHECK(c.signature == command().signature);
  CHECK(again(recorded(), wire::decode_to_daemon).command_id ==
        recorded().command_id);
}

TEST_CASE("session: the body of a command round-trips") {
  auto got = wire::decode_command_body(wire::encode(command_body()));
  REQUIRE(got);
  const auto& c = got.value();
  CHECK(c.command_id == command_body().command_id);
  CHECK(c.node_id == command_body().node_id);
  CHECK(c.kind == command_body().kind);
  CHECK(c.payload == command_body().payload);
  CHECK(c.issued_at_ms == command_body().issued_at_ms);
  CHECK(c.expires_at_ms == command_body().expires_at_ms);
}

TEST_CASE("session: what gateway and API say to each other round-trips") {
  auto h = wire::decode_session_hello(wire::encode(session_hello()));
  REQUIRE(h);
  CHECK(h.value().session_id == session_hello().session_id);
  CHECK(h.value().gateway_id == session_hello().gateway_id);
  CHECK(h.value().address == session_hello().address);
  CHECK(h.value().message.nonce == hello().nonce);
  auto e = wire::decode_session_end(wire::encode(session_end()));
  REQUIRE(e);
  CHECK(e.value().session_id == session_end().session_id);
  CHECK(e.value().node_id == session_end().node_id);
  CHECK(e.value().reason == "lost");
  auto k = wire::decode_session_check(wire::encode(session_check()));
  REQUIRE(k);
  CHECK(k.value().session_id == session_check().session_id);
  CHECK(k.value().node_id == session_check().node_id);
  auto f = wire::decode_fetch_commands(wire::encode(fetch_commands()));
  REQUIRE(f);
  CHECK(f.value().node_id == fetch_commands().node_id);
  auto all = wire::decode_fetched_commands(wire::encode(fetched_commands()));
  REQUIRE(all);
  REQUIRE(all.value().commands.size() == 2);
  CHECK(all.value().commands[1].body == command().body);
  CHECK(all.value().allowed_kinds.empty());
  auto some = fetched_commands();
  some.allowed_kinds = {"ping", "inspect.*"};
  CHECK(
      wire::decode_fetched_commands(wire::encode(some)).value().allowed_kinds ==
      some.allowed_kinds);
  CHECK_FALSE(wire::decode_fetched_commands(wire::encode(some)).value().more);
  some.more = true;
  CHECK(wire::decode_fetched_commands(wire::encode(some)).value().more);
  auto r = wire::decode_relayed_result(wire::encode(relayed_result()));
  REQUIRE(r);
  CHECK(r.value().session_id == relayed_result().session_id);
  CHECK(r.value().what.output == command_result().output);
}

TEST_CASE("session: types and fields of a newer peer are ignored") {
  auto later = wire::decode_from_daemon(R"({"type":"later","x":[1]})");
  REQUIRE(later);
  CHECK_FALSE(later.value());
  auto other = wire::decode_to_daemon(R"({"type":"later"})");
  REQUIRE(other);
  CHECK_FALSE(other.value());
  // What only the other side says is not known either.
  auto welcomed = wire::decode_from_daemon(of_gateway(welcome()));
  REQUIRE(welcomed);
  CHECK_FALSE(welcomed.value());
  CHECK(wire::decode_from_daemon(
      swapped(of_daemon(hello()), "\"nonce\"", "\"later\":{},\"nonce\"")));
}

TEST_CASE("session: a daemon's frame that is not well formed names its field") {
  auto h = of_daemon(hello());
  auto beat = of_daemon(heartbeat());
  auto r = of_daemon(command_result());
  auto text = [](std::size_t n) { return std::string(n, 'a'); };
  auto nonce_of = [](std::size_t n) {
    auto m = hello();
    m.nonce = bytes(n, 1);
    return wire::encode(from_daemon{m});
  };
  auto output_of = [](std::size_t n) {
    auto m = command_result();
    m.output = std::string(n, 'a');
    return wire::encode(from_daemon{m});
  };
  check_bad(
      wire::decode_from_daemon,
      {{"", ""},
       {"[]", ""},
       {"{}", "/type"},
       {R"({"type":1})", "/type"},
       {R"({"type":"hello","type":"hello"})", ""},
       {h + std::string(wire::max_session_frame, ' '), ""},
       {swapped(h, "\"version\":\"0.1.0\",", ""), "/version"},
       {swapped(h, "0.1.0", text(65)), "/version"},
       {swapped(h, "1764000000000", "1764000000000.0"), "/clientTime"},
       {swapped(h, "1764000000000", "\"now\""), "/clientTime"},
       {swapped(h, "1764000000000", "9223372036854775808"), "/clientTime"},
       {nonce_of(31), "/nonce"},
       {nonce_of(33), "/nonce"},
       {swapped(h, "CwsL", "Cws-"), "/nonce"},
       {swapped(beat, "7", "-1"), "/number"},
       {swapped(beat, "7", "\"7\""), "/number"},
       {swapped(r, "cmd_01k5w000000000000000000000", ""), "/commandId"},
       {swapped(r, "cmd_01k5w000000000000000000000", text(65)), "/commandId"},
       {swapped(r, "true", "1"), "/succeeded"},
       {output_of(32 * 1024 + 1), "/output"}});
  CHECK(wire::decode_from_daemon(output_of(32 * 1024)));
}

TEST_CASE(
    "session: a gateway's frame that is not well formed names its field") {
  auto w = of_gateway(welcome());
  auto c = of_gateway(command());
  auto key_of = [](std::size_t n) {
    auto m = welcome();
    m.signing_key = bytes(n, 1);
    return wire::encode(to_daemon{m});
  };
  check_bad(wire::decode_to_daemon,
            {{"{}", "/type"},
             {swapped(w, "sess_01k5w000000000000000000000", ""), "/sessionId"},
             {swapped(w, ":15,", ":0,"), "/heartbeatSeconds"},
             {swapped(w, ":15,", ":3601,"), "/heartbeatSeconds"},
             {key_of(0), "/signingKey"},
             {key_of(513), "/signingKey"},
             {swapped(w, "\"serverTime\"", "\"time\""), "/serverTime"},
             {swapped(w, "\"sig\":\"", "\"sig\":\"AAAA"), "/serverTime/sig"},
             {swapped(c, "\"sig\":\"", "\"sig\":\"AAAA"), "/sig"},
             {swapped(c, "\"body\":\"", "\"body\":\"A"), "/body"},
             {R"({"type":"recorded"})", "/commandId"}});
}

TEST_CASE("session: a command's body that is not well formed names its field") {
  auto good = wire::encode(command_body());
  auto payload_of = [](std::size_t n) {
    auto c = command_body();
    c.payload = "{\"t\":\"" + std::string(n - 8, 'a') + "\"}";
    return wire::encode(c);
  };
  CHECK(wire::decode_command_body(payload_of(16 * 1024)));
  check_bad(wire::decode_command_body,
            {{"{}", "/commandId"},
             {swapped(good, "node_01k5w000000000000000000000", ""), "/nodeId"},
             {swapped(good, "\"ping\"", "\"\""), "/kind"},
             {swapped(good, R"({"text":"hello"})", "\"hello\""), "/payload"},
             {payload_of(16 * 1024 + 1), "/payload"},
             {swapped(good, "1764000000000", "null"), "/issuedAt"},
             {swapped(good, "1764000060000", "1e3"), "/expiresAt"}});
}

TEST_CASE("session: a message between gateway and API names its bad field") {
  auto h = wire::encode(session_hello());
  check_bad(wire::decode_session_hello,
            {{"{}", "/sessionId"},
             {swapped(h, "gw_01k5w000000000000000000000", ""), "/gatewayId"},
             {swapped(h, "198.51.100.7", std::string(257, '1')), "/address"},
             {swapped(h, "\"hello\"", "\"hi\""), "/hello"},
             {swapped(h, "0.1.0", std::string(65, '1')), "/hello/version"}});
  check_bad(
      wire::decode_session_end,
      {{"{}", "/sessionId"}, {R"({"sessionId":"s","nodeId":"n"})", "/reason"}});
  check_bad(wire::decode_session_check,
            {{"{}", "/sessionId"}, {R"({"sessionId":"s"})", "/nodeId"}});
  check_bad(wire::decode_fetch_commands,
            {{"{}", "/sessionId"}, {R"({"sessionId":"s"})", "/nodeId"}});
  check_bad(wire::decode_fetched_commands,
            {{"{}", "/commands"},
             {R"({"commands":[1]})", "/commands/0"},
             {R"({"commands":[{"body":1}]})", "/commands/0/body"},
             {R"({"commands":[],"allowedKinds":"ping"})", "/allowedKinds"},
             {R"({"commands":[],"allowedKinds":[1]})", "/allowedKinds/0"},
             {R"({"commands":[],"more":1})", "/more"}});
  auto r = wire::encode(relayed_result());
  check_bad(wire::decode_relayed_result,
            {{"{}", "/sessionId"},
             {swapped(r, "true", "\"yes\""), "/result/succeeded"},
             {r + std::string(2 * wire::max_session_frame, ' '), ""}});
}
