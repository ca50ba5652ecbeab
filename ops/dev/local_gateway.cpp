#include "ops/dev/local_gateway.hpp"

#include "gateway/routes.hpp"

#include <string>
#include <utility>

namespace bc::dev {

local_gateway::local_gateway(serve::control_plane& plane)
    : plane_(plane),
      sessions_(gateway::session_registry::make(plane.daemons())),
      watch_(plane.notices().watch(
          [to = sessions_](const actors::gateway_notice& n) { to->hear(n); })) {
}

result<std::unique_ptr<local_gateway>> local_gateway::start(
    gateway::server_options options, serve::control_plane& plane,
    const pki::key_bundle& keys) {
  std::unique_ptr<local_gateway> made{new local_gateway{plane}};
  options.clients.ca_pem =
      pki::certificates_pem(pki::certificates_of(keys, pki::key_name::node_ca));
  options.allow = gateway::daemon_methods;
  options.web_socket = made->sessions_->web_socket();
  BC_TRY(server, gateway::http_server::start(
                     std::move(options),
                     gateway::make_daemon_handler(plane.daemons())));
  made->server_ = std::move(server);
  plane.gateway_here(made->sessions_->gateway_id(), true);
  made->sessions_->watched(true);
  return made;
}

void local_gateway::stop(seconds grace) {
  if (std::exchange(stopped_, true) || !server_)
    return;
  sessions_->stop();
  server_->stop(grace);
  static_cast<void>(sessions_->drain(grace));
  watch_.reset();
  plane_.gateway_here(sessions_->gateway_id(), false);
}

}  // namespace bc::dev
