#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// The addresses that a site's DHCP server has lent, as dnsmasq keeps them.
namespace bc::daemon {

inline constexpr std::size_t max_lease_file = 16U << 20;

struct dhcp_lease {
  std::string mac;                       // aa:bb:cc:dd:ee:ff
  std::optional<time_point> expires_at;  // nullopt: lent for ever

  bool operator==(const dhcp_lease&) const = default;
};
/// By IPv4 address, in its canonical text.
using dhcp_leases = std::map<std::string, dhcp_lease, std::less<>>;

/// The leases of dnsmasq's lease file: a line each of "EXPIRY MAC ADDRESS NAME
/// CLIENT-ID", seconds since 1970 or 0. Strict: INVALID_STATE with the line's
/// number for any other line, an address that comes twice, or an end without a
/// line feed, since dnsmasq writes the file in place and a part of it is not
/// the truth. IPv6 leases, which name no MAC, those of hardware other than
/// Ethernet, and what newer versions add at the end ("agent-info" and
/// "vendorclass" lines) are read and left out.
[[nodiscard]] result<dhcp_leases> parse_dnsmasq_leases(std::string_view text);

/// The file, read again when it has changed. One thread.
class lease_file {
 public:
  explicit lease_file(std::filesystem::path path) : path_(std::move(path)) {}

  /// The MAC that has this address at `now`, by the machine's clock, which is
  /// dnsmasq's; nullopt: none. INVALID_STATE when the file cannot be read or
  /// parsed.
  [[nodiscard]] result<std::optional<std::string>> mac_at(
      std::string_view address, time_point now);

 private:
  struct stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const stamp&) const = default;
  };
  [[nodiscard]] result<void> refresh(time_point now);

  std::filesystem::path path_;
  std::optional<stamp> read_;  // nullopt: what was read does not count
  dhcp_leases leases_;
};

}  // namespace bc::daemon
