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
struct session_member {
  node_id id;
  std::string certificate;  // DER
};

session_member member_of(const wire::join_answer& answer);

wire::session_hello hello_of(const std::string& session,
                             const std::string& gateway = "gw_1",
                             const std::string& address = "192.0.2.1");

actors::daemon_call call_of(actors::daemon_request what, std::string body,
                            std::string certificate);

actors::daemon_call hello_call(const session_member& m,
                               const wire::session_hello& h);
actors::daemon_call end_call(const session_member& m,
                             const std::string& session,
                             const std::string& reason);
actors::daemon_call check_call(const session_member& m,
                               const std::string& session);

}  // namespace bc::test
