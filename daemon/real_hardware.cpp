#include "base/encoding.hpp"
#include "daemon/hardware.hpp"

#include <array>
#include <unistd.h>

namespace bc::daemon {

namespace {

class machine final : public hardware_source {
 public:
  result<pki::hardware_claims> read() override {
    BC_TRY(claims, read_dmi("/sys/class/dmi/id"));
    for (const auto& nic : physical_nics("/sys/class/net"))
      if (auto mac = permanent_mac(nic))
        claims.macs.push_back(*mac);
    std::array<char, 256> name{};
    // The kernel takes any bytes for a name; the protocol takes text.
    if (::gethostname(name.data(), name.size() - 1) == 0 &&
        is_utf8(name.data()))
      claims.hostname = name.data();
    return std::move(claims);
  }
};

}  // namespace

void add_hardware_options(CLI::App&) {}

std::unique_ptr<hardware_source> make_hardware_source() {
  return std::make_unique<machine>();
}

}  // namespace bc::daemon
