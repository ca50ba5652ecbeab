#include "daemon/session_frames.hpp"

#include "daemon/command_check.hpp"
#include "daemon/session_client.hpp"
#include "pki/digest.hpp"

#include <cstddef>
#include <utility>
#include <variant>

namespace bc::daemon {

namespace {

using end = session_outcome::end;

// As many results as a gateway passes on at a time.
constexpr std::size_t results_at_once = 8;
constexpr std::size_t nonce_size = 32;

}  // namespace

session_frames::session_frames(const identity& who,
                               std::vector<std::string> signing_pins,
                               std::string bcd_version,
                               const session_hooks& hooks, carrier& by)
    : who_(who),
      signing_pins_(std::move(signing_pins)),
      version_(std::move(bcd_version)),
      hooks_(hooks),
      by_(by) {}

void session_frames::greet() {
  nonce_ = pki::random_bytes(nonce_size);
  by_.write(wire::from_daemon{
      wire::hello{version_, to_millis(hooks_.now()), nonce_}});
}

void session_frames::take(const wire::to_daemon& frame) {
  const auto* welcome = std::get_if<wire::welcome>(&frame);
  if ((welcome != nullptr) == welcomed_)
    return by_.say_and_end(end::protocol, "the gateway is out of step");
  if (welcome != nullptr)
    return take(*welcome);
  by_.heard();
  if (const auto* command = std::get_if<wire::command>(&frame))
    take(*command);
  else if (const auto* done = std::get_if<wire::recorded>(&frame))
    take(*done);
}

void session_frames::take(const wire::welcome& m) {
  auto time = check_welcome(m, signing_pins_, nonce_);
  if (!time)
    return by_.say_and_end(
        end::untrusted, "the welcome failed a check: " + time.error().message);
  if (!by_.is_valid_at(time.value()))
    return by_.say_and_end(end::untrusted,
                           "the gateway's certificate is not valid at the "
                           "server's time " +
                               to_rfc3339(time.value()));
  welcomed_ = true;
  by_.welcomed(seconds{m.heartbeat_seconds});
  if (hooks_.server_time)
    hooks_.server_time(time.value());
  if (hooks_.welcomed)
    hooks_.welcomed(m);
  send_results();
}

void session_frames::take(const wire::command& m) {
  auto checked =
      check_command(m, who_.command_signing_keys, who_.node_id, hooks_.now());
  // No answer to what is not genuine: the gateway would not believe it was us.
  bool genuine = checked.failed == command_fault::none ||
                 checked.failed == command_fault::expired;
  if (genuine && hooks_.command)
    hooks_.command(checked.body);
}

void session_frames::take(const wire::recorded& m) {
  if (hooks_.recorded)
    hooks_.recorded(m.command_id);
  if (sent_.erase(m.command_id) > 0)
    send_results();
}

void session_frames::beat() {
  by_.write(wire::from_daemon{wire::heartbeat{++beats_}});
  sent_.clear();
  send_results();
}

void session_frames::send_results() {
  if (!welcomed_ || !hooks_.results)
    return;
  for (const auto& result : hooks_.results()) {
    if (sent_.size() >= results_at_once)
      return;
    if (sent_.insert(result.command_id).second)
      by_.write(wire::from_daemon{result});
  }
}

}  // namespace bc::daemon
