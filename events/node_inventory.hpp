#pragma once

#include "events/node.hpp"

#include <string>
#include <vector>

/// What a node's own inventory changes of its hardware key (spec: ATTESTATION
/// section 5). Pure.
namespace bc::events::node {

/// The node found this hardware key. A trusted key of the node is never
/// replaced: another trusted one makes hardware_changed. A missing or untrusted
/// one is: by a trusted key that is free, or by an untrusted one; a trusted key
/// that another node holds (`taken`) makes hardware_taken alone. No events for
/// an empty key, for what is known already and for a retired node; NOT_FOUND
/// without a node.
struct record_inventory {
  time_point now;
  std::string hardware_key;  // hex, or empty
  bool trusted = false;      // it names one machine
  bool taken = false;
  /// Which kinds of identifier differ from those it joined with, and all it
  /// found: for diagnosis alone.
  std::vector<std::string> changed_identifiers = {};
  std::vector<pki::identifier_hash> identifiers = {};
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const record_inventory& c);

/// What the node is known to have, to tell what is another one now: of the
/// inventory that its key came of, else of its newest join. The state must hold
/// a node.
[[nodiscard]] std::vector<pki::identifier_hash> known_identifiers(
    const state& s, const pki::shared_uuids& shared);

namespace detail {
void apply(state& s, const inventory_recorded& i);
}  // namespace detail

}  // namespace bc::events::node
