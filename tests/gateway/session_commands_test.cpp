// Commands on their way to a daemon, results on their way back.
#include "gateway/command_dispatch.hpp"
#include "gateway/relay_codec.hpp"
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;
using actors::gateway_notice;

namespace {

wire::command command_for(const std::string& node, int n) {
  return {wire::encode(wire::command_body{"cmd_" + std::to_string(n), node,
                                          "ping", "{}", 1, 2}),
          bytes(64, 7)};
}

std::string fetched(std::vector<wire::command> commands) {
  return wire::encode(wire::fetched_commands{std::move(commands)});
}

std::string command_in(const std::string& frame) {
  auto read = wire::decode_to_daemon(frame);
  REQUIRE(read);
  REQUIRE(read.value());
  const auto* command = std::get_if<wire::command>(&*read.value());
  REQUIRE(command != nullptr);
  return wire::decode_command_body(command->body).value().command_id;
}

std::string result_text(const std::string& id, std::string output = "done") {
  return wire::encode(
      wire::from_daemon{wire::command_result{id, true, std::move(output)}});
}

gateway_notice commands_for(const node_identity& who) {
  return {gateway_notice::kind::commands, node_of(who), "", false};
}

}  // namespace

TEST_CASE("session: what waits is fetched with the welcome, and on notice") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({command_for(node_of(who), 1)}));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_1");
  auto asked = wire::decode_fetch_commands(
      w.api.all(daemon_request::fetch_commands).at(0).body);
  CHECK(asked.value().session_id == w.session_id(0));
  CHECK(asked.value().node_id == node_of(who));
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({command_for(node_of(who), 2)}));
  w.registry->hear(commands_for(who));
  CHECK(command_in(peer->read_text()) == "cmd_2");
}

TEST_CASE("session: a command for another node, or none, is not passed on") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({command_for("node_other", 1),
                    {"no command", bytes(64, 7)},
                    command_for(node_of(who), 3)}));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_3");
  auto body = wire::decode_command_body(command_for("node_1", 1).body).value();
  CHECK(may_dispatch(body, "node_1", {}));
  CHECK_FALSE(may_dispatch(body, "node_2", {}));
  CHECK(may_dispatch(body, "node_1", {"pong", "ping"}));
  CHECK_FALSE(may_dispatch(body, "node_1", {"pong", "ping.*"}));
}

TEST_CASE("session: a kind that the certificate does not let in stays here") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  auto other = wire::decode_command_body(command_for(node_of(who), 1).body);
  auto reboot = other.value();
  reboot.kind = "reboot";
  wire::fetched_commands all{
      {{wire::encode(reboot), bytes(64, 7)}, command_for(node_of(who), 2)},
      {"ping"}};
  w.api.on(daemon_request::fetch_commands, 200, wire::encode(all));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_2");
}

TEST_CASE("session: what could not be fetched is fetched later") {
  session_world w;
  w.options.limits.fetch_again = milliseconds{20};
  w.api.welcome();
  w.api.on(daemon_request::fetch_commands, 503);
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::fetch_commands) >= 3; }));
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({command_for(node_of(who), 1)}));
  CHECK(command_in(peer->read_text()) == "cmd_1");
}

TEST_CASE("session: a result of what is no command does not come again") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 404);
  w.start();
  auto peer = w.session(w.node());
  peer->say(result_text("cmd_1"));
  CHECK(peer->read_text() ==
        wire::encode(wire::to_daemon{wire::recorded{"cmd_1"}}));
}

TEST_CASE("session: a result is recorded only when a server took it") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.api.on(daemon_request::command_result, 503);
  peer->say(result_text("cmd_1"));
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::command_result) == 1; }));
  w.api.on(daemon_request::command_result, 200);
  peer->say(result_text("cmd_1"));
  // The only answer: nothing came for the first.
  CHECK(peer->read_text() ==
        wire::encode(wire::to_daemon{wire::recorded{"cmd_1"}}));
  auto relayed = wire::decode_relayed_result(
      w.api.all(daemon_request::command_result).at(1).body);
  REQUIRE(relayed);
  CHECK(relayed.value().session_id == w.session_id(0));
  CHECK(relayed.value().node_id == node_of(who));
  CHECK(relayed.value().what.output == "done");
}

TEST_CASE("session: the longest result passes") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 200);
  w.start();
  auto peer = w.session(w.node());
  // Each character is two in JSON: the frame is at its bound.
  std::string output(32 * 1024 - 64, '\n');
  auto text = result_text("cmd_1", output);
  REQUIRE(text.size() <= wire::max_session_frame);
  peer->say(text);
  CHECK(peer->read_text().find("recorded") != std::string::npos);
  auto body = w.api.all(daemon_request::command_result).at(0).body;
  CHECK(wire::decode_relayed_result(body).value().what.output == output);
  relay::request r;
  r.body = body;
  CHECK(relay::fits(r));
}

TEST_CASE("session: results beyond those in flight come again later") {
  session_world w;
  w.api.welcome();
  w.options.limits.results_in_flight = 2;
  held_joins held;
  w.api.on(daemon_request::command_result,
           [&](actors::daemon_call c, auto done) {
             held.call(std::move(c), std::move(done));
           });
  w.start();
  auto peer = w.session(w.node());
  for (int i = 0; i < 5; ++i)
    peer->say(result_text("cmd_" + std::to_string(i)));
  // All were read by the time that this is answered.
  peer->say(session_world::heartbeat_text(5));
  CHECK(peer->read_text() == session_world::heartbeat_text(5));
  CHECK(held.size() == 2);
  held.take().done({200, ""});
  CHECK(peer->read_text().find("cmd_0") != std::string::npos);
  peer->say(result_text("cmd_4"));
  CHECK(comes_true([&] { return held.size() == 2; }));
  held.take().done({200, ""});
  held.take().done({200, ""});
}

TEST_CASE("session: so many commands at once, the others after a result") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 200);
  w.options.limits.commands_at_once = 2;
  w.start();
  auto who = w.node();
  std::vector<wire::command> all;
  for (int i = 0; i < 3; ++i)
    all.push_back(command_for(node_of(who), i));
  w.api.on(daemon_request::fetch_commands, 200, fetched(all));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_0");
  CHECK(command_in(peer->read_text()) == "cmd_1");
  w.api.on(daemon_request::fetch_commands, 200, fetched({all[2]}));
  peer->say(result_text("cmd_0"));
  CHECK(peer->read_text().find("recorded") != std::string::npos);
  CHECK(command_in(peer->read_text()) == "cmd_2");
}

TEST_CASE("session: what was sent is not sent again for a while") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 200);
  w.options.limits.commands_at_once = 2;
  bool soon = GENERATE(false, true);
  if (soon)
    w.options.limits.send_again = milliseconds{50};
  w.start();
  auto who = w.node();
  std::vector<wire::command> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(command_for(node_of(who), i));
  w.api.on(daemon_request::fetch_commands, 200, fetched({all[0]}));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_0");
  if (soon) {
    // The daemon may have had no room for it; nobody needs to give notice.
    CHECK(command_in(peer->read_text()) == "cmd_0");
    return;
  }
  w.api.on(daemon_request::fetch_commands, 200, fetched(all));
  w.registry->hear(commands_for(who));
  CHECK(command_in(peer->read_text()) == "cmd_1");
  // Two are under way: the next goes once one has its result.
  w.registry->hear(commands_for(who));
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::fetch_commands) == 3; }));
  peer->say(session_world::heartbeat_text(5));
  CHECK(peer->read_text() == session_world::heartbeat_text(5));
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({all[1], all[2], all[3]}));
  peer->say(result_text("cmd_0"));
  CHECK(peer->read_text().find("recorded") != std::string::npos);
  CHECK(command_in(peer->read_text()) == "cmd_2");
}

TEST_CASE("session: what did not fit into an answer is fetched after it") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 200);
  w.start();
  auto who = w.node();
  wire::fetched_commands some{{command_for(node_of(who), 1)}};
  some.more = true;
  w.api.on(daemon_request::fetch_commands, 200, wire::encode(some));
  auto peer = w.session(who);
  CHECK(command_in(peer->read_text()) == "cmd_1");
  w.api.on(daemon_request::fetch_commands, 200,
           fetched({command_for(node_of(who), 2)}));
  peer->say(result_text("cmd_1"));
  CHECK(peer->read_text().find("recorded") != std::string::npos);
  CHECK(command_in(peer->read_text()) == "cmd_2");
}

TEST_CASE("session: notices while it is fetched are one more fetch") {
  session_world w;
  w.api.welcome();
  held_joins held;
  w.api.on(daemon_request::fetch_commands,
           [&](actors::daemon_call c, auto done) {
             held.call(std::move(c), std::move(done));
           });
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  auto first = held.take();
  for (int i = 0; i < 10; ++i)
    w.registry->hear(commands_for(who));
  peer->say(session_world::heartbeat_text(5));
  CHECK(peer->read_text() == session_world::heartbeat_text(5));
  CHECK(held.size() == 0);
  first.done({200, fetched({})});
  held.take().done({200, fetched({})});
  peer->say(session_world::heartbeat_text(6));
  CHECK(peer->read_text() == session_world::heartbeat_text(6));
  CHECK(held.size() == 0);
}
