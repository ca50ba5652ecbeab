#include "daemon/discovery_mac.hpp"
#include "daemon/hardware.hpp"

namespace bc::daemon {

namespace {

class machine final : public hardware_source {
 public:
  result<pki::hardware_claims> read() override { return read_machine({}); }
};

}  // namespace

void add_hardware_options(CLI::App&, bool) {}

token_text sent_token_text() {
  return token_text::well_formed;
}

bool joins_without_pins() {
  return false;
}

std::unique_ptr<hardware_source> make_hardware_source() {
  return std::make_unique<machine>();
}

mac_source make_mac_source() {
  return mac_towards;
}

}  // namespace bc::daemon
