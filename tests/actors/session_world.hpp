#pragma once

#include "actors/sessions/session_flow.hpp"
#include "base/wire_session.hpp"
#include "events/event_names.hpp"
#include "events/node_sessions.hpp"
#include "tests/actors/join_world.hpp"

#include <string>
#include <utility>

namespace bc::test {

/// A machine that joined, with what its certificate proves.
struct member {
  node_id id;
  std::string certificate;  // DER
};

inline member member_of(const wire::join_answer& answer) {
  auto body = wire::decode_joined_body(answer.body).value();
  return {node_id::parse(body.node_id).value(),
          std::string{as_text(body.certificate_chain.front())}};
}

inline wire::session_hello hello_of(const std::string& session,
                                    const std::string& gateway = "gw_1",
                                    const std::string& address = "192.0.2.1") {
  return {session, gateway, address,
          wire::hello{"0.1.0", 1'790'000'000'000, bytes(32, 0x0b)}};
}

inline actors::daemon_call call_of(actors::daemon_request what,
                                   std::string body, std::string certificate) {
  return {std::move(body), "req-1", std::move(certificate), what};
}

inline actors::daemon_call hello_call(const member& m,
                                      const wire::session_hello& h) {
  return call_of(actors::daemon_request::hello, wire::encode(h), m.certificate);
}
inline actors::daemon_call end_call(const member& m, const std::string& session,
                                    const std::string& reason) {
  return call_of(actors::daemon_request::session_end,
                 wire::encode(wire::session_end{session, m.id.str(), reason}),
                 m.certificate);
}
inline actors::daemon_call check_call(const member& m,
                                      const std::string& session) {
  return call_of(actors::daemon_request::check_session,
                 wire::encode(wire::session_check{session, m.id.str()}),
                 m.certificate);
}

}  // namespace bc::test
