#include "tests/actors/session_world.hpp"

namespace bc::test {

session_member member_of(const wire::join_answer& answer) {
  auto body = wire::decode_joined_body(answer.body).value();
  return {node_id::parse(body.node_id).value(),
          std::string{as_text(body.certificate_chain.front())}};
}

wire::session_hello hello_of(const std::string& session,
                             const std::string& gateway,
                             const std::string& address) {
  return {session, gateway, address,
          wire::hello{"0.1.0", 1'790'000'000'000, bytes(32, 0x0b)}};
}

actors::daemon_call call_of(actors::daemon_request what, std::string body,
                            std::string certificate) {
  return {std::move(body), "req-1", std::move(certificate), what};
}

actors::daemon_call hello_call(const session_member& m,
                               const wire::session_hello& h) {
  return call_of(actors::daemon_request::hello, wire::encode(h), m.certificate);
}

actors::daemon_call end_call(const session_member& m,
                             const std::string& session,
                             const std::string& reason) {
  return call_of(actors::daemon_request::session_end,
                 wire::encode(wire::session_end{session, m.id.str(), reason}),
                 m.certificate);
}

actors::daemon_call check_call(const session_member& m,
                               const std::string& session) {
  return call_of(actors::daemon_request::check_session,
                 wire::encode(wire::session_check{session, m.id.str()}),
                 m.certificate);
}

}  // namespace bc::test
