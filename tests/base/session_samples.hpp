#pragma once

#include "base/wire_session.hpp"

/// One message of each kind of a session, with made-up bytes.
namespace session_samples {

using namespace bc;

inline wire::hello hello() {
  return {"0.1.0", 1'764'000'000'000, bytes(32, 0x0b)};
}

inline wire::heartbeat heartbeat() {
  return {7};
}

inline wire::command_result command_result() {
  return {"cmd_01k5w000000000000000000000", true, R"({"answer":"pong"})"};
}

inline wire::welcome welcome() {
  return {"sess_01k5w000000000000000000000", 15, bytes(4, 0x05),
          wire::server_time{1'764'000'000'000, bytes(64, 0x06)}};
}

inline wire::command_body command_body() {
  return {"cmd_01k5w000000000000000000000",
          "node_01k5w000000000000000000000",
          "ping",
          R"({"text":"hello"})",
          1'764'000'000'000,
          1'764'000'060'000};
}

inline wire::command command() {
  return {wire::encode(command_body()), bytes(64, 0x07)};
}

inline wire::recorded recorded() {
  return {"cmd_01k5w000000000000000000000"};
}

inline wire::session_hello session_hello() {
  return {"sess_01k5w000000000000000000000", "gw_01k5w000000000000000000000",
          "198.51.100.7", hello()};
}

inline wire::session_end session_end() {
  return {"sess_01k5w000000000000000000000", "node_01k5w000000000000000000000",
          "lost"};
}

inline wire::session_check session_check() {
  return {"sess_01k5w000000000000000000000", "node_01k5w000000000000000000000"};
}

inline wire::fetch_commands fetch_commands() {
  return {"sess_01k5w000000000000000000000", "node_01k5w000000000000000000000"};
}

inline wire::fetched_commands fetched_commands() {
  return {{command(), command()}};
}

inline wire::relayed_result relayed_result() {
  return {"sess_01k5w000000000000000000000", "node_01k5w000000000000000000000",
          command_result()};
}

}  // namespace session_samples
