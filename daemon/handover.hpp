#pragma once

#include "base/result.hpp"
#include "daemon/config.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>

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
/// nobody changes a name in it meanwhile; whether it did. Nothing for a folder
/// that is root's already or is not there; INVALID_STATE for one of another
/// user.
[[nodiscard]] result<bool> take_over(const std::filesystem::path& data_dir,
                                     const account& a);
/// The folder and what bcd keeps in it, plain files of one link each, become
/// the account's; every other file stays as it is. Nothing for a folder that is
/// not there. INVALID_STATE for one that is not root's with mode 0700, which is
/// no data folder, and when it fails.
[[nodiscard]] result<void> hand_over(const std::filesystem::path& data_dir,
                                     const account& a);

/// The data folder for the time of a join: taken over, and given back also when
/// a signal (INT, TERM, HUP) ends the process. Made before any other thread.
class lent_folder {
 public:
  /// nullptr without `[helper]`, and for who is not root. The faults of
  /// account_of() and take_over().
  [[nodiscard]] static result<std::unique_ptr<lent_folder>> take(
      const config& c);
  lent_folder(const lent_folder&) = delete;
  lent_folder& operator=(const lent_folder&) = delete;
  /// Gives back what was taken.
  ~lent_folder();

  /// `holds_identity`: the folder was held, and has an identity, so that it is
  /// the account's from now on. Without one, only what was taken goes back.
  [[nodiscard]] result<void> give_back(bool holds_identity);

 private:
  lent_folder(std::filesystem::path folder, const account& to);
  void watch_signals();

  const std::filesystem::path folder_;
  const account to_;
  std::mutex mutex_;
  bool taken_ = false;
  bool ended_ = false;
  sigset_t set_{};
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace bc::daemon
