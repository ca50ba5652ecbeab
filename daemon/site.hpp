#pragma once

#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/node.hpp"
#include "daemon/renewal_plan.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace bc::daemon {

/// How long a site agent that ends may take to give its lease back, so that
/// another has it at once and not when it runs out.
inline constexpr seconds release_patience{3};

/// What a site agent asks of the world; a test replaces it.
struct site_tools {
  /// A line for the log, from any thread.
  std::function<void(const std::string&)> say;
  /// POST to the gateway with the agent's certificate.
  std::function<exchange(const config&, std::string_view path,
                         std::string_view body, const node_identity& me,
                         std::stop_token stop)>
      post;
  std::function<clock_reading()> clocks;
  /// The listener has this port now; may be empty.
  std::function<void(std::uint16_t port)> listening = {};
};
/// The network and the machine's clocks.
[[nodiscard]] site_tools real_site_tools(
    std::function<void(const std::string&)> say);

/// What `bcd site` runs beside a node's renewal and session (node.hpp): keeps
/// asking for the site's boot lease, and gives vouches to the ramdisks that it
/// boots while it has it. Gives the lease back as it is destroyed.
[[nodiscard]] std::unique_ptr<node_side> start_site_agent(
    const config& c, const node_identity& me, const node_side_tools& of_node,
    site_tools tools);

}  // namespace bc::daemon
