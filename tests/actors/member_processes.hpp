#pragma once

#include "tests/actors/session_world.hpp"
#include "tests/actors/two_processes.hpp"

#include <string>

namespace bc::test {

/// Two server processes, machines that joined, and a credential of their
/// tenant.
class member_processes : public two_processes {
 public:
  session_member new_member(int n) {
    auto reply = a.join(w, make_machine(n), w.mint_token().text());
    REQUIRE(reply.status == 200);
    return member_of(answer_in(reply));
  }
  /// `more`: fields after the tenant and the node, with a comma before each.
  [[nodiscard]] std::string naming(const session_member& m,
                                   const std::string& more = {}) const {
    return "{\"tenantId\":\"" + w.owner.str() + "\",\"nodeId\":\"" +
           m.id.str() + "\"" + more + "}";
  }
  api_reply on(process& p, const std::string& method, const session_member& m,
               const std::string& more = {}) {
    return p.call(method, key, naming(m, more));
  }

  std::string key = credential();
};

}  // namespace bc::test
