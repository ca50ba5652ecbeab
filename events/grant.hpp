#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/join_token.hpp"
#include "pki/certificate.hpp"
#include "pki/hardware_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bc::events {

/// Which nodes a machine may take back, of the same tenant, site, pool and role
/// (spec: joining#placeholder-hardware-and-reclaims, ATTESTATION 2.6 and 4).
enum class takes_back {
  nothing,
  /// The one its endorsement key is bound to, and no other.
  its_own,
  /// One that is a ramdisk still: no operating system is touched.
  ramdisk,
  any_known,
};

/// What an attestor lets a machine become that proved itself to it; what comes
/// of it the rules of admission.hpp judge.
struct grant {
  std::string attestor;  // "join-token", "tpm", "discovery"
  tenant_id tenant;
  site_id site;
  std::optional<pool_id> pool;  // none: a site agent
  /// The certificate's, before `hosted` lowers it.
  pki::certificate_role role = pki::certificate_role::node;
  bool hosted = false;
  pki::hardware_expectation expect;  // normalised
  /// It is known by more than what it says of its hardware, which need not name
  /// it then: by its EK, or by the MAC that a site agent vouched for.
  bool bound = false;
  takes_back reclaims = takes_back::nothing;
  /// The node it is for, which the machine repeats.
  std::optional<node_id> node;
  std::optional<join_token_id> token;  // that is spent
  std::string ek_hash;                 // hex; empty: not known by a TPM
  /// The node that it was granted for as that was read; when it moved since,
  /// that is to be judged anew.
  struct seen_node {
    node_id id;
    std::uint64_t version = 0;
  };
  std::optional<seen_node> by_node;
  /// Statements about the node's key, which the TPM made (`nodeKey: tpm`);
  /// empty: unattested.
  std::vector<std::string> statements;
  std::vector<std::string> allowed_kinds;  // empty: every kind
  seconds max_lifetime = pki::max_node_lifetime;
  /// Hex, of what the machine answered, which counts once; empty: nothing.
  std::string proof_sha256;
};

/// For a token that exists.
[[nodiscard]] grant grant_of(const join_token::created& token);

}  // namespace bc::events
