#pragma once

#include "actors/joining/answers.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/node.hpp"
#include "pki/bundle.hpp"
#include "pki/certificate.hpp"
#include "pki/digest.hpp"
#include "pki/key.hpp"
#include "pki/signature.hpp"

#include <string>
#include <vector>

/// A node's certificate with the answer that brings it to its machine.
namespace bc::actors {

/// Whose certificate it is to be.
struct certificate_order {
  const pki::public_key& key;
  const pki::sha256_digest& csr_sha256;
  site_id site;
  node_id node;
  pki::certificate_role role = pki::certificate_role::node;
  std::vector<std::string> statements = {};
  seconds lifetime = pki::max_node_lifetime;  // cut to the role's maximum
};

struct issued_answer {
  events::node::certificate certificate;  // its generation is not set
  signed_text answer;                     // a wire::joined_body
};

/// Issues under the node CA, with a new serial, and signs the answer for this
/// purpose (join_response, renew_response).
[[nodiscard]] issued_answer issue(const pki::key_bundle& keys,
                                  const certificate_order& order,
                                  pki::purpose purpose, time_point now);

/// True for a key that belongs to the deployment itself (CASES 90).
[[nodiscard]] bool is_own_key(const pki::key_bundle& keys,
                              const pki::public_key& key);

}  // namespace bc::actors
