#pragma once

#include "actors/renewing/renew_flow.hpp"
#include "base/wire_renew.hpp"
#include "pki/certificate.hpp"
#include "pki/signature.hpp"
#include "tests/actors/join_world.hpp"

namespace bc::test {

/// A machine with the certificate it goes by.
struct member {
  node_id id;
  pki::private_key key;
  std::vector<bytes> chain;

  [[nodiscard]] const bytes& leaf() const;
  [[nodiscard]] member copy() const;
};

void sign(wire::renew_request& r, const pki::private_key& key);

member member_of(const wire::join_answer& answer, const pki::private_key& key);

/// What a good daemon sends whose clock shows this.
wire::renew_request renewal_of(const member& m, const pki::private_key& next,
                               time_point client_time);

/// On a connection by this client certificate.
actors::daemon_call call_of(const wire::renew_request& r, const bytes& client);

bool renewed(const tried& t);

/// A deployment whose nodes renew.
class renew_world : public join_world {
 public:
  using join_world::join_world;

  member admit(int n);
  /// The nth machine comes back with a new key.
  member reclaim(int n);

  /// What a good daemon sends, by its own clock.
  [[nodiscard]] wire::renew_request renewal(
      const member& m, const pki::private_key& next,
      milliseconds clock_is_off = milliseconds{0}) const;

  [[nodiscard]] std::shared_ptr<actors::renew_environment> renewing();
  tried renew(const wire::renew_request& r, const bytes& client);
  /// With a new key, on a connection by its own certificate.
  tried renew(const member& m);
  /// The member with its new certificate; the renewal must go well.
  member renew_well(const member& m);
};

/// The rule for every refused renewal: the one wire answer, one report, nothing
/// written.
void check_renew_refused(renew_world& w, const tried& t, std::uint64_t head,
                         events::refusal_reason reason, const tenant_id& owner);

}  // namespace bc::test
