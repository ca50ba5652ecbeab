#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "daemon/private_dir.hpp"
#include "daemon/site_lease.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace bc::daemon {

/// What a running `bcd site` knows; kept in site.json for `bcd doctor`.
struct site_status {
  std::string node_id;
  boot_lease_view lease;
  time_point written_at;  // the server's time as far as it is known
};
[[nodiscard]] std::string encode(const site_status& s);
/// INVALID_INPUT for a text that encode() did not write.
[[nodiscard]] result<site_status> decode_site_status(std::string_view text);

[[nodiscard]] result<void> write_site_status(const private_dir& folder,
                                             const site_status& s);
/// From outside, beside a running daemon; nullopt: there is none that can be
/// read.
[[nodiscard]] std::optional<site_status> read_site_status(
    const std::filesystem::path& data_dir);

}  // namespace bc::daemon
