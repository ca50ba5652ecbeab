#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <sys/types.h>

/// A root `bcd join` for a `bcd node` that runs as the user of `[helper]`
/// (spec: joining#troubleshooting).
namespace bc::daemon {

struct account {
  uid_t user = 0;
  gid_t group = 0;
};

/// INVALID_CONFIG for a user that this machine does not know, and for root.
[[nodiscard]] result<account> account_of(const std::string& user);

/// The account's data folder becomes root's for the time of the join, so that
/// nobody changes a name in it meanwhile. Nothing for a folder that is root's
/// already or is not there; INVALID_STATE for one of another user.
[[nodiscard]] result<void> take_over(const std::filesystem::path& data_dir,
                                     const account& a);
/// The folder and the plain files in it, of one link each, become the
/// account's. INVALID_STATE when that fails.
[[nodiscard]] result<void> hand_over(const std::filesystem::path& data_dir,
                                     const account& a);

}  // namespace bc::daemon
