#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "daemon/discovery_wire.hpp"
#include "daemon/site_leases.hpp"
#include "daemon/site_rate.hpp"
#include "pki/vouch.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// Who gets a site agent's word (spec: ATTESTATION section 4).
namespace bc::daemon {

/// A request as it came in.
struct vouch_question {
  std::string method;
  std::string path;
  std::string body;
  std::string ip;               // canonical; of a mapped address, the IPv4
  address_limit::address from;  // the same, for the limit
};

/// What is known when a well-formed request is judged.
struct vouch_facts {
  site_id site;
  std::string ip;
  /// The epoch of the boot lease while this agent holds it, with the margin.
  std::optional<std::int64_t> epoch;
  /// What the DHCP server lent the address to; nullopt: nothing.
  std::optional<std::string> lent_to;
  time_point now;  // the server's
};

/// The word, or why there is none: the boot lease, the DHCP lease, the MAC, in
/// this order. Pure; `jti` is new for each.
[[nodiscard]] std::variant<pki::vouch::claims, vouch_refused> decide_vouch(
    const vouch_request& request, const vouch_facts& facts, std::string jti);

/// Where the desk's facts come from.
struct vouch_desk_tools {
  site_id site;
  std::function<std::optional<std::int64_t>()> epoch;
  std::function<result<std::optional<std::string>>(std::string_view ip)>
      lent_to;
  std::function<time_point()> server_time;
  std::function<milliseconds()> since_boot;
  /// The claims as a vouch, signed by the key of the agent's certificate; may
  /// block.
  std::function<result<std::string>(const pki::vouch::claims&)> sign;
  /// A line for the log: each vouch, and each kind of failure once.
  std::function<void(const std::string&)> say;
};

/// Answers one request after the other; one thread.
class vouch_desk {
 public:
  explicit vouch_desk(vouch_desk_tools tools) : tools_(std::move(tools)) {}

  [[nodiscard]] vouch_answer answer(const vouch_question& question);

 private:
  [[nodiscard]] vouch_answer judge(const vouch_request& request,
                                   const std::string& ip);
  [[nodiscard]] vouch_refused broken(vouch_denial what, const std::string& why);

  vouch_desk_tools tools_;
  address_limit limit_;
  std::string told_;  // the failure that was said last
};

}  // namespace bc::daemon
