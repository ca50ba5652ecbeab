#pragma once

#include "base/ids.hpp"
#include "events/refusal_reason.hpp"

#include <string>

namespace bc::actors {

/// A refused join or renewal, for the refusal actor. `token` and `details` are
/// for the index of refused joins alone, and never in an event.
struct refusal_report {
  /// Whose it is once the secret or the key was proved, else the root tenant.
  tenant_id owner;
  events::refusal_reason reason;
  std::string attestor;
  std::string role;
  std::string csr_sha256;    // hex
  std::string hardware_key;  // hex or empty
  std::string correlation;
  std::string token = {};      // its id once its secret verified
  std::string details = "{}";  // JSON object: what was compared
  // Of a renewal, once the key was proved.
  std::string node = {};    // its id
  std::string serial = {};  // hex; of the certificate presented
};

}  // namespace bc::actors
