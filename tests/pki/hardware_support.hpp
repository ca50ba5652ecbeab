#pragma once

#include "pki/hardware_key.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What the tests of the hardware key share.
namespace bc::pki::testing {

inline hardware_claims claims(std::string uuid, std::string serial,
                              std::vector<std::string> macs = {}) {
  hardware_claims c;
  c.product_uuid = std::move(uuid);
  c.product_serial = std::move(serial);
  c.macs = std::move(macs);
  return c;
}

inline hardware_key key_of(const hardware_claims& c) {
  return derive_hardware_key(normalise(c));
}

inline bool serial_survives(const std::string& serial) {
  return !normalise(claims("", serial)).serials.empty();
}
inline bool uuid_survives(const std::string& uuid) {
  return normalise(claims(uuid, "")).product_uuid.has_value();
}
inline bool mac_survives(const std::string& mac) {
  return !normalise(claims("", "", {mac})).macs.empty();
}

/// Claims that say what is left, and no more.
inline hardware_claims as_claims(const identifiers& ids) {
  hardware_claims c;
  c.product_uuid = ids.product_uuid.value_or("");
  std::string* serials[] = {&c.product_serial, &c.board_serial,
                            &c.chassis_serial};
  for (std::size_t i = 0; i < ids.serials.size(); ++i)
    *serials[i] = ids.serials[i];
  c.macs = ids.macs;
  c.gpu_uuids = ids.gpu_uuids;
  return c;
}

/// A list of tests/pki/, a value each line.
inline std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream in{std::string{BC_SOURCE_DIR} + "/tests/pki/" + name};
  if (!in)
    throw std::runtime_error("no list " + name);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

}  // namespace bc::pki::testing
