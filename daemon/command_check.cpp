#include "daemon/command_check.hpp"

#include "pki/signature.hpp"

#include <algorithm>
#include <utility>

namespace bc::daemon {

namespace {

bool is_signed(const wire::command& command,
               const std::vector<bytes>& signing_keys) {
  return std::ranges::any_of(signing_keys, [&command](const bytes& spki) {
    auto key = pki::public_key::from_spki(spki);
    return key && pki::verify(key.value(), pki::purpose::command,
                              {as_bytes(command.body)}, command.signature);
  });
}

}  // namespace

std::string_view command_fault_text(command_fault f) noexcept {
  switch (f) {
    case command_fault::none:
      return "none";
    case command_fault::signature:
      return "its signature is by none of the known keys";
    case command_fault::form:
      return "it is no command";
    case command_fault::node:
      return "it is for another node";
    case command_fault::expired:
      return "its time is up";
  }
  return "unknown";
}

checked_command check_command(const wire::command& command,
                              const std::vector<bytes>& signing_keys,
                              std::string_view node_id, time_point now) {
  if (!is_signed(command, signing_keys))
    return {command_fault::signature, {}};
  auto body = wire::decode_command_body(command.body);
  if (!body)
    return {command_fault::form, {}};
  if (body.value().node_id != node_id)
    return {command_fault::node, {}};
  if (now >= from_millis(body.value().expires_at_ms))
    return {command_fault::expired, std::move(body).value()};
  return {command_fault::none, std::move(body).value()};
}

}  // namespace bc::daemon
