#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "actors/ports.hpp"
#include "actors/tpm/tpm_attestor.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "gateway/http_server.hpp"
#include "gateway/revocation_list.hpp"
#include "gateway/routes.hpp"
#include "ops/serve/duties.hpp"
#include "ops/serve/expiry.hpp"
#include "ops/serve/health.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::serve {

struct control_plane_options {
  store::opened store;  // already of this program's schema
  std::shared_ptr<const pki::key_bundle> keys;
  /// The version of the stream `pki` that they are of; 0: nobody can rotate
  /// them beside this process.
  std::uint64_t keys_version = 0;
  tenant_id root_tenant;
  std::string source;
  seconds certificate_lifetime = pki::max_node_lifetime;
  pki::shared_uuids shared_uuids;
  bool x509pop = false;                     // as runtime_options::x509pop
  std::optional<actors::tpm_attestor> tpm;  // likewise
  std::optional<actors::discovery_attestor> discovery;  // likewise
  int workers = 2;
  std::optional<events::kafka::publisher_options> publisher;
  /// As duties_options::checkpoints.
  std::function<void(std::string_view line)> checkpoints = nullptr;
  /// Watched beside those of the keys.
  std::vector<dated_certificate> certificates;
  /// Called for every event this process commits, in order; must be quick.
  std::function<void(const events::envelope&)> on_event;
};

/// Where a listener is, and its TLS identity (null: plain HTTP).
struct listener_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::shared_ptr<const gateway::tls_identity> tls;
  std::size_t connections = 4096;
  /// Null: there is nothing to download.
  std::shared_ptr<gateway::downloads> programs;
};

/// Everything of a server but its listeners: the store, the actors, the
/// background duties, and what it says of itself. `serve` and `dev` are this
/// and their listeners.
class control_plane {
 public:
  [[nodiscard]] static result<std::unique_ptr<control_plane>> start(
      control_plane_options options);
  virtual ~control_plane() = default;

  [[nodiscard]] virtual actors::daemon_port& daemons() = 0;
  /// For the gateways, or the one in this process.
  [[nodiscard]] virtual actors::notice_port& notices() = 0;
  /// A gateway listens for them, or does no more. Any thread.
  virtual void gateway_here(const std::string& gateway, bool here) = 0;
  [[nodiscard]] virtual actors::api_port& api() = 0;
  [[nodiscard]] virtual gateway::readiness ready() const = 0;
  [[nodiscard]] virtual std::string metrics() const = 0;
  /// One of control_plane_options::certificates was replaced by the first in
  /// this PEM. Any thread.
  virtual void renewed(std::string_view certificate,
                       const std::string& pem) = 0;
  /// As gateway::find_revocation_list.
  [[nodiscard]] virtual result<std::shared_ptr<const gateway::revocation_list>>
  revoked(std::string_view authority) const = 0;
  /// Wakes event streams; also ends them in stop().
  [[nodiscard]] virtual std::shared_ptr<gateway::event_feed> feed() = 0;
  /// After the listeners: answers or refuses what is in flight, gives the
  /// lease back, and returns within `grace`. A second call returns at once.
  virtual void stop(seconds grace) = 0;
};

/// The API listener of a control plane.
[[nodiscard]] result<std::unique_ptr<gateway::http_server>> start_api_listener(
    listener_options where, control_plane& plane, gateway::well_known document);

/// The listener for /metrics, /healthz and /readyz alone.
[[nodiscard]] result<std::unique_ptr<gateway::http_server>>
start_probe_listener(const std::string& address, std::int64_t port,
                     std::function<gateway::readiness()> readyz,
                     std::function<std::string()> metrics);

}  // namespace bc::serve
