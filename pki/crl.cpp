#include "pki/crl.hpp"

#include "base/encoding.hpp"
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/x509.hpp"

#include <array>

namespace bc::pki {

namespace {

constexpr std::uint8_t enumerated = 0x0a;
constexpr auto crl_number = oids::der_of(6, 3, 0x55, 0x1d, 20);
constexpr auto reason_code = oids::der_of(6, 3, 0x55, 0x1d, 21);

bytes integer_of(std::uint64_t number) {
  std::array<std::uint8_t, 8> octets{};
  for (std::size_t i = octets.size(); i-- > 0; number >>= 8)
    octets[i] = static_cast<std::uint8_t>(number & 0xff);
  return der::write_unsigned(octets);
}

void append(bytes& to, const bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

result<bytes> entry_of(const revoked_serial& r) {
  BC_TRY(serial, from_hex(r.serial));
  if (serial.empty() || serial.size() > 20)
    return fail(errc::invalid_input, "a serial number has 1 to 20 bytes");
  auto number = der::write_unsigned(serial);
  auto when = der::write_time(std::chrono::floor<seconds>(r.at));
  if (r.why == crl_reason::unspecified)
    return der::wrap(der::sequence, {number, when});
  const std::array code{static_cast<std::uint8_t>(r.why)};
  auto reason =
      x509::make_extension(reason_code, false, der::wrap(enumerated, {code}));
  return der::wrap(der::sequence,
                   {number, when, der::wrap(der::sequence, {reason})});
}

}  // namespace

result<bytes> make_crl(const issuer& ca,
                       std::span<const revoked_serial> revoked,
                       std::uint64_t number, time_point this_update,
                       time_point next_update) {
  BC_TRY(above, x509::split(ca.certificate));
  bytes entries;
  for (const auto& r : revoked) {
    BC_TRY(entry, entry_of(r));
    append(entries, entry);
  }
  // An empty list is absent (RFC 5280 section 5.1.2.6).
  auto list = entries.empty() ? bytes{} : der::wrap(der::sequence, {entries});
  auto extensions = der::wrap(
      der::context(0),
      {der::wrap(
          der::sequence,
          {x509::authority_key_id_extension(x509::key_id(ca.key.pub())),
           x509::make_extension(crl_number, false, integer_of(number))})});
  auto tbs = der::wrap(
      der::sequence, {integer_of(1), oids::ecdsa_sha256, above.subject,
                      der::write_time(std::chrono::floor<seconds>(this_update)),
                      der::write_time(std::chrono::floor<seconds>(next_update)),
                      list, extensions});
  return der::wrap(
      der::sequence,
      {tbs, oids::ecdsa_sha256, der::write_bits(ca.key.sign_der(sha256(tbs)))});
}

std::string authority_id(const issuer& ca) {
  return to_hex(x509::key_id(ca.key.pub()));
}

std::string authority_id_of(byte_view certificate) {
  auto parts = x509::split(certificate);
  const auto* found =
      parts ? parts.value().find(oids::authority_key_id) : nullptr;
  if (found == nullptr)
    return {};
  constexpr std::uint8_t key_identifier = 0x80;  // [0] IMPLICIT
  der::reader in{found->value};
  auto list = in.take(der::sequence);
  if (!list)
    return {};
  der::reader fields{list->content};
  auto id = fields.take(key_identifier);
  return id ? to_hex(id->content) : std::string{};
}

}  // namespace bc::pki
