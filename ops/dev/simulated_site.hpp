#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/config.hpp"
#include "daemon/hardware.hpp"
#include "daemon/join.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bc::dev {

struct simulated_site_options {
  /// As an installed agent has it, its data folder made.
  daemon::config machine;
  std::unique_ptr<daemon::hardware_source> hardware;
  daemon::token_source token;  // a site token, where one is needed
  std::function<void(const std::string&)> say;
};

/// A site agent as `bcd site` is one, on made-up hardware: it joined, has the
/// boot lease, and vouches on a loopback port. The machines that it "boots" all
/// come from one address, so that is lent to one of them at a time.
class simulated_site {
 public:
  /// Joins, if need be, and begins. The message of a fault says why not.
  [[nodiscard]] static result<std::unique_ptr<simulated_site>> start(
      simulated_site_options options);
  ~simulated_site();
  simulated_site(const simulated_site&) = delete;
  simulated_site& operator=(const simulated_site&) = delete;

  /// What the machine with this MAC joins with. The site must outlive it.
  [[nodiscard]] daemon::join_evidence evidence_for(const std::string& mac);

 private:
  struct parts;
  explicit simulated_site(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace bc::dev
