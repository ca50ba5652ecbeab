#pragma once

#include "actors/rejoining/challenge_flow.hpp"
#include "base/wire_attest.hpp"
#include "tests/actors/renew_world.hpp"

namespace bc::test {

/// The first leg's body for this CSR and certificate.
wire::challenge_request challenge_for(const bytes& csr, const bytes& leaf);

/// The second leg: what a good daemon makes of a challenge; `n` is the machine
/// whose hardware it reads.
wire::join_request answer_to(const wire::challenge_body& challenge,
                             const member& m, int n,
                             const pki::private_key& next, const site_id& site);
/// Signs it (again) with this key and the challenge's secret.
void sign(wire::join_request& r, const pki::private_key& key,
          const bytes& secret);

actors::daemon_call call_of(const wire::challenge_request& r);
actors::daemon_call call_of(const wire::join_request& r);

/// A deployment whose nodes may come back by their certificates.
class rejoin_world : public renew_world {
 public:
  explicit rejoin_world(const open_journal& open = nullptr)
      : renew_world(open) {
    x509pop = true;
  }

  wire::join_answer ask(const wire::challenge_request& r);
  /// The challenge, which must be given.
  wire::challenge_body challenge(const bytes& csr, const bytes& leaf);

  /// Both legs of a good daemon, the second not sent yet.
  wire::join_request rejoining(const member& m, int n,
                               const pki::private_key& next);
  tried rejoin(const member& m, int n);
  /// The member with its new certificate; it must go well.
  member rejoin_well(const member& m, int n);
  /// The certificate of a lifetime, and so long, are over.
  void be_over_for(seconds time) { this->time.advance(lifetime + time); }
};

/// The rule for every refused rejoin: as for a join, and whose it is.
void check_rejoin_refused(join_world& w, const tried& t, std::uint64_t head,
                          events::refusal_reason reason,
                          const tenant_id& owner);

}  // namespace bc::test
