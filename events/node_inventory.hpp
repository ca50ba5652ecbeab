#pragma once

#include "events/node.hpp"

#include <string>

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
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const record_inventory& c);

namespace detail {
void apply(state& s, const inventory_recorded& i);
}  // namespace detail

}  // namespace bc::events::node
