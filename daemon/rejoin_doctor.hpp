#pragma once

#include "base/clock.hpp"
#include "daemon/doctor.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/node_status.hpp"

#include <optional>
#include <string>

namespace bc::daemon {

/// The way back that needs a person.
extern const std::string join_again;

/// A machine whose certificate is over.
struct rejoin_patient {
  const node_identity& me;
  time_point time;   // the server's, as far as known
  bool running;      // a bcd has the data folder
  bool may_use_tpm;  // bcd node has the TPM itself
  const std::optional<node_status>& status;
};
/// `renewal`: what bcd node does about it by itself (rejoin.hpp), or who must.
[[nodiscard]] finding judge_rejoin(const rejoin_patient& p);

}  // namespace bc::daemon
