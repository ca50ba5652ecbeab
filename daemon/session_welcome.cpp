#include "daemon/session_client.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/signature.hpp"

namespace bc::daemon {

result<time_point> check_welcome(
    const wire::welcome& welcome,
    const std::vector<std::string>& signing_key_pins, byte_view nonce) {
  auto key = pki::public_key::from_spki(welcome.signing_key);
  if (!key || !is_trusted(key.value().pin(), signing_key_pins))
    return fail(errc::access_denied, "not signed by the pinned key");
  auto text = std::to_string(welcome.time.time_ms);
  if (!pki::verify(key.value(), pki::purpose::server_time,
                   {as_bytes(text), nonce}, welcome.time.signature))
    return fail(errc::access_denied, "the server time's signature is wrong");
  return from_millis(welcome.time.time_ms);
}

session_outcome::end end_of_close(std::uint16_t code) noexcept {
  using end = session_outcome::end;
  switch (static_cast<wire::session_close>(code)) {
    case wire::session_close::going_away:
      return end::going_away;
    case wire::session_close::bad_frame:
      return end::protocol;
    case wire::session_close::overloaded:
      return end::overloaded;
    case wire::session_close::refused:
      return end::refused;
    case wire::session_close::superseded:
      return end::superseded;
  }
  // 1006 and its like are no frame's: nobody said goodbye.
  return code >= 1002 && code <= 1011 && code != 1005 && code != 1006
             ? end::protocol
             : end::lost;
}

session_outcome::end end_of_status(int status) noexcept {
  using end = session_outcome::end;
  if (status == 401 || status == 403)
    return end::refused;
  if (status == 429 || status == 503)
    return end::overloaded;
  return end::protocol;
}

}  // namespace bc::daemon
