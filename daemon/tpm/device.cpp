#include "daemon/tpm/device.hpp"

#include "pki/tpm/cursor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace bc::daemon::tpm {

using namespace pki::tpm;

namespace {

// TPM_ST, TPM_RH, TPM_CC and TPM_RC of part 2.
constexpr std::uint16_t no_sessions = 0x8001, with_sessions = 0x8002;
constexpr std::uint16_t hash_check_ticket = 0x8024;
constexpr handle null_handle = 0x40000007, password_session = 0x40000009;
constexpr std::uint32_t cc_flush = 0x165, cc_nv_read = 0x14e,
                        cc_nv_read_public = 0x169, cc_capability = 0x17a;
constexpr std::uint32_t rc_retry = 0x922, rc_yielded = 0x908,
                        rc_testing = 0x90a, rc_nv_rate = 0x920,
                        rc_lockout = 0x921, rc_object_memory = 0x902,
                        rc_session_memory = 0x903;
constexpr int most_tries = 20;
constexpr std::chrono::milliseconds between_tries{20};

// Bits 16 to 23 name a resource manager that passes the TPM's code on.
std::uint32_t without_layer(std::uint32_t code) {
  return code & ~0xff0000u;
}

// A code with a parameter, handle or session number, without that number.
std::uint32_t base_code(std::uint32_t code) {
  code = without_layer(code);
  return (code & 0x80) != 0 ? code & 0xbf : code;
}

bool asks_for_retry(std::uint32_t code) {
  code = without_layer(code);
  return code == rc_retry || code == rc_yielded || code == rc_testing ||
         code == rc_nv_rate;
}

// TPM_RC_WARN: format 0, version 2.0, severity "warning".
bool may_pass(std::uint32_t code) {
  return (without_layer(code) & 0x980) == 0x900;
}

fault refused(std::uint32_t code) {
  return fail(may_pass(code) ? errc::unavailable : errc::invalid_state,
              "the TPM answered " + response_text(code));
}

fault garbled() {
  return fail(errc::unavailable, "the TPM's answer cannot be read");
}

std::string_view meaning(std::uint32_t code) {
  switch (base_code(code)) {
    case rc_object_memory:
      return "no room for another object; another program holds them";
    case rc_session_memory:
      return "no room for another session; another program holds them";
    case rc_lockout:
      return "TPM in lockout";
    case rc_retry:
    case rc_yielded:
    case rc_testing:
    case rc_nv_rate:
      return "busy";
    case 0x8e:
    case 0xa2:
      return "authorisation failed: the hierarchy has a password; set "
             "[tpm] owner_auth_file or endorsement_auth_file";
    case 0x101:
      return "the TPM is in failure mode";
    case 0x12f:
      return "the key's private part is not in the TPM";
    case 0x9f:
      return "integrity check failed: it was made for another TPM or key, or "
             "the TPM was cleared";
    default:
      return lacks_kind(code) ? "the TPM does not have this kind of key"
                              : std::string_view{};
  }
}

// The empty authorisation, twice: a key's own and its sensitive data.
bytes empty_sensitive() {
  bytes out;
  put_number(out, 4, 2);
  put_number(out, 0, 4);
  return out;
}

bytes creation_parameters(const public_area& from) {
  auto out = empty_sensitive();
  put_sized(out, encode(from));
  put_sized(out, {});
  put_number(out, 0, 4);
  return out;
}

}  // namespace

std::string response_text(std::uint32_t code) {
  char number[16];
  std::snprintf(number, sizeof number, "0x%x", code);
  auto what = meaning(code);
  std::string out = number;
  return what.empty() ? out : out + " (" + std::string{what} + ")";
}

bool lacks_kind(std::uint32_t code) noexcept {
  switch (base_code(code)) {
    case 0x81:  // ASYMMETRIC
    case 0x82:  // ATTRIBUTES
    case 0x83:  // HASH
    case 0x84:  // VALUE
    case 0x87:  // KEY_SIZE
    case 0x89:  // MODE
    case 0x8a:  // TYPE
    case 0x8c:  // KDF
    case 0x92:  // SCHEME
    case 0x95:  // SIZE, of a vendor's template
    case 0x96:  // SYMMETRIC
    case 0xa6:  // CURVE
      return true;
    default:
      return false;
  }
}

bool is_of_index(std::uint32_t code) noexcept {
  switch (base_code(code)) {
    case 0x149:  // NV_AUTHORIZATION
    case 0x14a:  // NV_UNINITIALIZED
    case 0x12f:  // AUTH_UNAVAILABLE: read by the owner or by a policy alone
    case 0x82:   // ATTRIBUTES
    case 0x8b:   // HANDLE
    case 0x8e:   // AUTH_FAIL and BAD_AUTH: it has a password
    case 0xa2:
      return true;
    default:
      return false;
  }
}

result<secret_bytes> device::exchange(byte_view packet) {
  last_code_ = 0;
  for (int left = most_tries;; --left) {
    BC_TRY(out, transport_->exchange(packet));
    if (out.size() < 10)
      return garbled();
    cursor in{out.expose()};
    (void)in.u16();
    auto size = in.u32(), code = in.u32();
    if (size != out.size())
      return garbled();
    last_code_ = code;
    if (code == 0)
      return std::move(out);
    if (!asks_for_retry(code) || left == 0)
      return refused(code);
    std::this_thread::sleep_for(between_tries);
  }
}

result<device::answer> device::send(std::uint32_t command,
                                    std::vector<handle> handles,
                                    std::vector<session> sessions,
                                    byte_view parameters, bool answers_handle) {
  bytes body;
  for (auto h : handles)
    put_number(body, h, 4);
  bytes area;
  for (const auto& s : sessions) {
    put_number(area, s.which, 4);
    put_sized(area, {});
    area.push_back(1);  // continueSession: we flush what we opened
    put_sized(area, s.auth);
  }
  if (!sessions.empty()) {
    put_number(body, area.size(), 4);
    put(body, area);
  }
  put(body, parameters);
  bytes packet;
  put_number(packet, sessions.empty() ? no_sessions : with_sessions, 2);
  put_number(packet, 10 + body.size(), 4);
  put_number(packet, command, 4);
  put(packet, body);
  auto got = exchange(packet);
  wipe(area.data(), area.size());
  wipe(body.data(), body.size());
  wipe(packet.data(), packet.size());
  if (!got)
    return std::move(got).error();
  cursor in{got.value().expose()};
  auto tag = in.u16();
  (void)in.take(8);
  answer out;
  if (answers_handle)
    out.at = in.u32();
  if (tag == with_sessions) {
    auto size = in.u32();
    out.parameters = secret_bytes{in.take(size)};
    (void)in.rest();
  } else {
    out.parameters = secret_bytes{in.rest()};
  }
  if (!in.done())
    return garbled();
  return out;
}

result<device::created> device::create_primary(handle hierarchy,
                                               const secret_bytes& auth,
                                               const public_area& from) {
  BC_TRY(got, send(0x131, {hierarchy}, {{password_session, auth.expose()}},
                   creation_parameters(from), true));
  cursor in{got.parameters.expose()};
  return created{got.at, in.sized()};
}

result<device::key_blobs> device::create(handle parent,
                                         const public_area& from) {
  BC_TRY(got, send(0x153, {parent}, {{password_session}},
                   creation_parameters(from)));
  cursor in{got.parameters.expose()};
  key_blobs out{in.sized()};
  out.public_area = in.sized();
  return out;
}

result<handle> device::load(handle parent, const key_blobs& key) {
  bytes parameters;
  put_sized(parameters, key.private_area);
  put_sized(parameters, key.public_area);
  BC_TRY(got, send(0x157, {parent}, {{password_session}}, parameters, true));
  return got.at;
}

result<void> device::flush(handle object) {
  bytes parameters;
  put_number(parameters, object, 4);
  BC_TRYV(send(cc_flush, {}, {}, parameters));
  return ok();
}

result<bytes> device::read_public(handle object) {
  BC_TRY(got, send(0x173, {object}, {}, {}));
  cursor in{got.parameters.expose()};
  return in.sized();
}

result<device::certified> device::certify(handle key, handle ak,
                                          byte_view qualifying) {
  bytes parameters;
  put_sized(parameters, qualifying);
  put_number(parameters, alg::null, 2);
  BC_TRY(got, send(0x148, {key, ak}, {{password_session}, {password_session}},
                   parameters));
  cursor in{got.parameters.expose()};
  certified out{in.sized(), {}};
  out.signature = in.rest();
  return out;
}

result<bytes> device::sign(handle key, byte_view digest) {
  bytes parameters;
  put_sized(parameters, digest);
  put_number(parameters, alg::null, 2);
  put_number(parameters, hash_check_ticket, 2);
  put_number(parameters, null_handle, 4);
  put_sized(parameters, {});
  BC_TRY(got, send(0x15d, {key}, {{password_session}}, parameters));
  return to_bytes(got.parameters.expose());
}

result<handle> device::endorsement_session(std::uint16_t hash,
                                           const secret_bytes& auth) {
  bytes parameters;
  put_sized(parameters, bytes(16));  // unsalted and unbound: no secret in it
  put_sized(parameters, {});
  parameters.push_back(1);  // TPM_SE_POLICY
  put_number(parameters, alg::null, 2);
  put_number(parameters, hash, 2);
  BC_TRY(opened, send(0x176, {null_handle, null_handle}, {}, parameters, true));
  bytes secret(10);  // no nonce, cpHash or policyRef, no expiration
  auto satisfied = send(0x151, {hierarchy::endorsement, opened.at},
                        {{password_session, auth.expose()}}, secret);
  if (!satisfied) {
    (void)flush(opened.at);
    return std::move(satisfied).error();
  }
  return opened.at;
}

result<secret_bytes> device::activate(handle ak, handle ek, handle with,
                                      byte_view credential_blob,
                                      byte_view encrypted_secret) {
  bytes parameters = to_bytes(credential_blob);
  put(parameters, encrypted_secret);
  BC_TRY(got, send(0x147, {ak, ek},
                   {{password_session}, {with == 0 ? password_session : with}},
                   parameters));
  cursor in{got.parameters.expose()};
  return secret_bytes{in.sized()};
}

result<std::vector<handle>> device::handles(handle first) {
  bytes parameters;
  put_number(parameters, 1, 4);  // TPM_CAP_HANDLES
  put_number(parameters, first, 4);
  put_number(parameters, 254, 4);
  BC_TRY(got, send(cc_capability, {}, {}, parameters));
  cursor in{got.parameters.expose()};
  (void)in.take(5);
  std::vector<handle> out;
  for (auto count = std::min(in.u32(), 254u); count > 0; --count)
    out.push_back(in.u32());
  if (!in.done())
    return garbled();
  return out;
}

result<std::optional<std::uint32_t>> device::property(std::uint32_t which) {
  bytes parameters;
  put_number(parameters, 6, 4);  // TPM_CAP_TPM_PROPERTIES
  put_number(parameters, which, 4);
  put_number(parameters, 1, 4);
  BC_TRY(got, send(cc_capability, {}, {}, parameters));
  cursor in{got.parameters.expose()};
  (void)in.take(5);
  auto count = in.u32(), property = in.u32(), value = in.u32();
  if (count != 1 || property != which)
    return std::optional<std::uint32_t>{};
  return std::optional{value};
}

result<std::size_t> device::most_read() {
  constexpr std::uint32_t nv_buffer_max = 0x12c;
  constexpr std::size_t where_unsaid = 512;
  BC_TRY(value, property(nv_buffer_max));
  if (value.value_or(0) == 0)
    return where_unsaid;
  return std::min<std::size_t>(*value, 2048);
}

result<bytes> device::read_index(handle index, std::size_t most) {
  BC_TRY(got, send(cc_nv_read_public, {index}, {}, {}));
  cursor in{got.parameters.expose()};
  auto area = in.sized();
  if (area.size() < 2)
    return garbled();
  std::size_t size =
      static_cast<std::size_t>(area[area.size() - 2] << 8) | area.back();
  bytes out;
  while (out.size() < size) {
    bytes parameters;
    put_number(parameters, std::min(most, size - out.size()), 2);
    put_number(parameters, out.size(), 2);
    BC_TRY(part,
           send(cc_nv_read, {index, index}, {{password_session}}, parameters));
    cursor data{part.parameters.expose()};
    auto piece = data.sized();
    if (piece.empty() || piece.size() > size - out.size())
      return garbled();
    put(out, piece);
  }
  return out;
}

}  // namespace bc::daemon::tpm
