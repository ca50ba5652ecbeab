#pragma once

#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/doctor.hpp"
#include "daemon/site_status.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// What `bcd doctor` looks at beside a node's, on a site agent.
struct site_patient {
  const config& machine;
  std::string node_id;
  bool running = false;               // a bcd has the data folder
  std::optional<site_status> status;  // of whichever identity
  time_point machine_time;            // for the DHCP leases
  time_point server_time;             // as far as it is known
};

/// The checks boot-lease and dhcp-leases. The second is of the agent that has
/// the lease, and counts for the others as long as the file is there.
[[nodiscard]] std::vector<finding> examine_site(const site_patient& p);

}  // namespace bc::daemon
