#include "daemon/trusted_pins.hpp"

#include <algorithm>
#include <utility>

namespace bc::daemon {

namespace {

std::vector<std::string> all_of(const std::string& configured,
                                const std::vector<std::string>& further) {
  std::vector<std::string> out{configured};
  out.insert(out.end(), further.begin(), further.end());
  return out;
}

}  // namespace

config with_pins_of(config c, const identity& who) {
  c.further_serving_ca_pins.clear();
  c.further_join_signing_pins.clear();
  if (who.installed_serving_ca_pin != c.serving_ca_spki_pin ||
      who.installed_join_signing_pin != c.join_signing_key_pin)
    return c;
  c.further_serving_ca_pins = who.serving_ca_pins;
  c.further_join_signing_pins = who.join_signing_pins;
  return c;
}

std::vector<std::string> serving_ca_pins(const config& c) {
  return all_of(c.serving_ca_spki_pin, c.further_serving_ca_pins);
}

std::vector<std::string> join_signing_pins(const config& c) {
  return all_of(c.join_signing_key_pin, c.further_join_signing_pins);
}

bool is_trusted(std::string_view pin, const std::vector<std::string>& trusted) {
  return std::ranges::find(trusted, pin) != trusted.end();
}

}  // namespace bc::daemon
