#pragma once

#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <string>

namespace bc::api_test {

/// Machines that wait on acme's site.
struct deferral_world : api_world {
  actors::deferral_order order(const std::string& machine, char csr) {
    return test::order_of(acme, site, machine, test::csr_of(csr));
  }
  result<actors::deferral_outcome> defer(const std::string& machine, char csr,
                                         actors::deferral_limits l = {}) {
    return test::defer_now(streams, order(machine, csr), l);
  }
  reply decide(const std::string& method, const join_request_id& id,
               const fields& more = {}) {
    fields input{{"tenantId", json_string(acme.str())},
                 {"poolId", json_string(pool.str())},
                 {"requestId", json_string(id.str())}};
    input.insert(more.begin(), more.end());
    return call(acme_key, "joinRequests." + method, input);
  }
  events::join_request::state state_of(const join_request_id& id) {
    events::join_request::state s;
    auto all = store->read_stream(events::stream_of(id), 0, 10'000);
    REQUIRE(all);
    for (const auto& e : all.value())
      s = evolve(std::move(s), events::join_request::decode(e).value());
    return s;
  }
};

}  // namespace bc::api_test
