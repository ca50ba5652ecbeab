#include "base/encoding.hpp"
#include "daemon/hardware.hpp"
#include "daemon/kernel_files.hpp"

#include <array>

namespace bc::daemon {

namespace {

constexpr std::size_t max_value = 256;

// Unset firmware fields are often all 0xFF bytes (CASES 30): not text.
bool is_text(std::string_view value) {
  return value.size() <= max_value && is_utf8(value) &&
         value.find('\0') == std::string_view::npos;
}

}  // namespace

result<pki::hardware_claims> read_dmi(const std::filesystem::path& folder) {
  pki::hardware_claims out;
  const std::array<std::pair<const char*, std::string*>, 4> files = {{
      {"product_uuid", &out.product_uuid},
      {"product_serial", &out.product_serial},
      {"board_serial", &out.board_serial},
      {"chassis_serial", &out.chassis_serial},
  }};
  for (const auto& [name, field] : files) {
    BC_TRY(value, read_kernel_file(folder / name));
    if (value && is_text(*value))
      *field = *value;
  }
  return out;
}

}  // namespace bc::daemon
