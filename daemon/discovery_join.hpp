#pragma once

#include "base/result.hpp"
#include "daemon/discovery_mac.hpp"
#include "daemon/discovery_wire.hpp"
#include "daemon/endpoint.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/join.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// What a join by discovery asks of the world; a test replaces it.
struct discovery_tools {
  mac_source mac;
  std::function<exchange(const endpoint& agent, std::string_view path,
                         std::string_view body)>
      post;
};
/// This machine's network.
[[nodiscard]] discovery_tools real_discovery_tools(mac_source mac);

/// The evidence of a ramdisk: for each try a new vouch for its CSR and its
/// claims, by whichever of the agents gives one, the last that did first (spec:
/// ATTESTATION section 4), and the token's seal, if there is a token. When none
/// gives one, UNAVAILABLE with what each of them said.
[[nodiscard]] join_evidence discovery_evidence(std::vector<endpoint> agents,
                                               discovery_tools tools);

}  // namespace bc::daemon
