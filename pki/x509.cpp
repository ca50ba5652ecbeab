#include "pki/x509.hpp"

#include "pki/der.hpp"
#include "pki/oids.hpp"

#include <algorithm>

namespace bc::pki::x509 {

namespace {

fault bad(std::string why) {
  return fail(errc::invalid_input, "not a certificate: " + why);
}

// AlgorithmIdentifier: an OID, and at most one element of parameters.
bool is_algorithm(byte_view content) {
  der::reader in{content};
  if (!der::well_formed(content) || !in.take(der::oid))
    return false;
  return in.at_end() || (in.next() && in.at_end());
}

result<std::vector<extension>> split_extensions(byte_view tagged) {
  der::reader top{tagged};
  auto list = top.take(der::sequence);
  if (!list || !top.at_end() || list->content.empty())
    return bad("its extensions are not a list");
  std::vector<extension> out;
  der::reader in{list->content};
  while (!in.at_end()) {
    auto item = in.take(der::sequence);
    if (!item || !der::well_formed(item->content))
      return bad("an extension is not well formed");
    der::reader part{item->content};
    auto id = part.take(der::oid);
    bool critical = false;
    if (auto flag = part.take(der::boolean)) {
      critical = true;
      // FALSE is the default, which DER leaves out.
      if (flag->content[0] != 0xff)
        return bad("an extension is not well formed");
    }
    auto value = part.take(der::octet_string);
    if (!id || !value || !part.at_end())
      return bad("an extension is not well formed");
    for (const auto& other : out)
      if (std::ranges::equal(other.id, id->whole))
        return bad("an extension is given twice");
    out.push_back({id->whole, critical, value->content});
  }
  return out;
}

result<void> split_tbs(byte_view content, parts& out) {
  der::reader in{content};
  auto version = in.take(der::context(0));
  if (!version || !std::ranges::equal(version->content, oids::der_of(2, 1, 2)))
    return bad("its version is not 3");
  auto serial = in.take(der::integer);
  if (!serial || !der::is_positive(serial->content) ||
      serial->content.size() > 20)
    return bad("its serial is not positive or over 20 octets");
  auto algorithm = in.take(der::sequence);
  if (!algorithm ||
      !std::ranges::equal(algorithm->whole, out.signature_algorithm))
    return bad("its two signature algorithms differ");
  auto issuer = in.take(der::sequence);
  auto validity = in.take(der::sequence);
  auto subject = in.take(der::sequence);
  auto spki = in.take(der::sequence);
  if (!issuer || !der::is_name(issuer->content) || !validity || !subject ||
      !der::is_name(subject->content) || !spki)
    return bad("its parts are not those of RFC 5280");
  der::reader times{validity->content};
  auto before = times.next(), after = times.next();
  auto not_before = before ? der::read_time(*before) : std::nullopt;
  auto not_after = after ? der::read_time(*after) : std::nullopt;
  if (!not_before || !not_after || !times.at_end())
    return bad("its times are not those of RFC 5280");
  auto extensions = in.take(der::context(3));
  if (!extensions || !in.at_end())
    return bad("it has no extensions, or something after them");
  out.serial = serial->content;
  out.issuer = issuer->whole;
  out.subject = subject->whole;
  out.not_before = *not_before;
  out.not_after = *not_after;
  out.spki = spki->whole;
  BC_TRY(list, split_extensions(extensions->content));
  out.extensions = std::move(list);
  return ok();
}

}  // namespace

const extension* parts::find(byte_view id) const {
  for (const auto& e : extensions)
    if (std::ranges::equal(e.id, id))
      return &e;
  return nullptr;
}

result<parts> split(byte_view der) {
  der::reader top{der};
  auto outer = top.take(der::sequence);
  if (!outer || !top.at_end())
    return bad("it is not one DER element");
  der::reader in{outer->content};
  auto tbs = in.take(der::sequence);
  auto algorithm = in.take(der::sequence);
  auto bits = in.take(der::bit_string);
  auto signature = bits ? der::octets_of_bits(bits->content) : std::nullopt;
  if (!tbs || !algorithm || !is_algorithm(algorithm->content) || !signature ||
      !in.at_end())
    return bad("its parts are not those of RFC 5280");
  parts out;
  out.tbs = tbs->whole;
  out.signature_algorithm = algorithm->whole;
  out.signature = *signature;
  BC_TRYV(split_tbs(tbs->content, out));
  return out;
}

bytes name(byte_view type, std::string_view text) {
  auto value = der::wrap(der::utf8_string, {as_bytes(text)});
  auto attribute = der::wrap(der::sequence, {type, value});
  return der::wrap(der::sequence, {der::wrap(der::set, {attribute})});
}

std::optional<bool> is_ca(const parts& certificate) {
  const auto* found = certificate.find(oids::basic_constraints);
  if (found == nullptr)
    return false;
  der::reader top{found->value};
  auto body = top.take(der::sequence);
  if (!body || !top.at_end() || !der::well_formed(body->content))
    return std::nullopt;
  der::reader in{body->content};
  bool ca = false;
  if (auto flag = in.take(der::boolean)) {
    ca = flag->content[0] == 0xff;
    if (!ca)
      return std::nullopt;
  }
  if (auto length = in.take(der::integer);
      length && (!ca || length->content[0] >= 0x80))
    return std::nullopt;
  if (!in.at_end())
    return std::nullopt;
  return ca;
}

bool may_sign_certificates(const parts& certificate) {
  if (is_ca(certificate) != true)
    return false;
  const auto* usage = certificate.find(oids::key_usage);
  if (usage == nullptr)
    return true;
  constexpr std::uint8_t key_cert_sign = 0x04;
  der::reader in{usage->value};
  auto bits = in.take(der::bit_string);
  return bits && in.at_end() && bits->content.size() >= 2 &&
         (bits->content[1] & key_cert_sign) != 0;
}

bytes key_id(const public_key& key) {
  auto digest = sha256(key.sec1());
  return {digest.begin(), digest.begin() + 20};
}

bytes make_extension(byte_view id, bool critical, byte_view value) {
  static constexpr std::uint8_t yes[] = {der::boolean, 1, 0xff};
  return der::wrap(der::sequence, {id, critical ? byte_view{yes} : byte_view{},
                                   der::wrap(der::octet_string, {value})});
}

bytes subject_key_id_extension(byte_view id) {
  return make_extension(oids::subject_key_id, false,
                        der::wrap(der::octet_string, {id}));
}

bytes authority_key_id_extension(byte_view id) {
  constexpr std::uint8_t key_identifier = 0x80;  // [0] IMPLICIT
  return make_extension(
      oids::authority_key_id, false,
      der::wrap(der::sequence, {der::wrap(key_identifier, {id})}));
}

std::array<std::uint8_t, 16> serial_of(
    std::array<std::uint8_t, 16> random) noexcept {
  random[0] = static_cast<std::uint8_t>((random[0] & 0x7f) | 0x40);
  return random;
}

bytes sign(const private_key& signer, const fields& f) {
  bytes list;
  for (const auto& extension : f.extensions)
    list.insert(list.end(), extension.begin(), extension.end());
  auto tbs = der::wrap(
      der::sequence,
      {oids::der_of(0xa0, 3, 2, 1, 2), der::write_unsigned(f.serial),
       oids::ecdsa_sha256, f.issuer,
       der::wrap(der::sequence,
                 {der::write_time(f.not_before), der::write_time(f.not_after)}),
       f.subject, f.key.spki(),
       der::wrap(der::context(3), {der::wrap(der::sequence, {list})})});
  auto signature = signer.sign_der(sha256(tbs));
  return der::wrap(der::sequence,
                   {tbs, oids::ecdsa_sha256, der::write_bits(signature)});
}

}  // namespace bc::pki::x509
