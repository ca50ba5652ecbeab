#include "base/encoding.hpp"
#include "daemon/hardware.hpp"

#include <algorithm>
#include <array>
#include <unistd.h>

namespace bc::daemon {

namespace {

// What one message holds of each kind (schema/wire/join-request.json).
constexpr std::size_t most_parts = 64;

// The lowest ones: a key is made of the lowest of all.
void bound(std::vector<std::string>& parts) {
  std::sort(parts.begin(), parts.end());
  if (parts.size() > most_parts)
    parts.resize(most_parts);
}

std::string host_name() {
  std::array<char, 256> name{};
  // The kernel takes any bytes for a name; the protocol takes text.
  bool known = ::gethostname(name.data(), name.size() - 1) == 0;
  return known && is_utf8(name.data()) ? name.data() : std::string{};
}

}  // namespace

result<pki::hardware_claims> read_machine(const machine_places& places) {
  BC_TRY(claims, read_dmi(places.dmi));
  BC_TRY(nics, physical_nics(places.net));
  for (const auto& nic : nics) {
    BC_TRY(mac, places.permanent_mac(nic));
    if (mac)
      claims.macs.push_back(*mac);
  }
  BC_TRY(gpus, gpu_uuids(places.nvidia));
  claims.gpu_uuids = std::move(gpus);
  bound(claims.macs);
  bound(claims.gpu_uuids);
  claims.hostname = host_name();
  return std::move(claims);
}

}  // namespace bc::daemon
