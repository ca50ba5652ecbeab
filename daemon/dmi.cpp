#include "base/encoding.hpp"
#include "daemon/hardware.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::size_t max_value = 256;

// Unset firmware fields are often all 0xFF bytes (CASES 30): not text.
bool is_text(std::string_view value) {
  return value.size() <= max_value && is_utf8(value) &&
         value.find('\0') == std::string_view::npos;
}

result<std::string> read_value(const std::filesystem::path& file) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return std::string{};
  if (fd < 0 && (errno == EACCES || errno == EPERM))
    return fail(errc::invalid_state,
                "need root to read hardware identifiers (" + file.string() +
                    "): run as root");
  std::array<char, 4096> buffer;
  auto got = fd < 0 ? -1 : ::read(fd, buffer.data(), buffer.size());
  int why = errno;
  if (fd >= 0)
    ::close(fd);
  if (got < 0)
    return fail(errc::invalid_state,
                "cannot read " + file.string() + ": " + std::strerror(why));
  std::string value{buffer.data(), static_cast<std::size_t>(got)};
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r'))
    value.pop_back();
  return is_text(value) ? value : std::string{};
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
    BC_TRY(value, read_value(folder / name));
    *field = value;
  }
  return out;
}

}  // namespace bc::daemon
