#pragma once

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "daemon/machine_keys.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bc::dev {

/// Machines that joined, living as `bcd node` lets one live: each keeps its
/// certificate renewed and a session open, and carries out commands. A few
/// threads serve all of them.
class fleet {
 public:
  /// `say` is given a line for the log, from any thread.
  explicit fleet(std::function<void(const std::string&)> say, int threads = 4);
  ~fleet();
  fleet(const fleet&) = delete;
  fleet& operator=(const fleet&) = delete;

  /// The machine in `machine.data_dir` begins to live. One that has no identity
  /// there, or whose folder another holds, is said and left out.
  void add(const std::string& name, const daemon::config& machine,
           std::function<result<pki::hardware_claims>()> hardware,
           const daemon::key_places& keys = {});
  /// Ends all sessions and what is being renewed, within a few seconds. A
  /// second call returns at once.
  void stop();

  struct standing {
    int machines = 0;   // that live; one whose certificate is over does not
    int connected = 0;  // with a session that was welcomed
    int renewals = 0;   // since the start, of all
    int commands = 0;   // carried out since the start, of all
  };
  [[nodiscard]] standing count() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace bc::dev
