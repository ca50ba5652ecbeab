#include "daemon/tpm/key_keeper.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/templates.hpp"

#include <cstdio>

namespace bc::daemon::tpm {

using namespace pki::tpm;

namespace {

fault no_such_key(const char* what) {
  return fail(errc::invalid_state, std::string{"the TPM gave no "} + what);
}

std::string text_of_handle(handle h) {
  char out[16];
  std::snprintf(out, sizeof out, "0x%08x", h);
  return out;
}

// r and s of fixed length from a TPM's signature, whose numbers may be short.
result<pki::raw_signature> raw_of(byte_view tpm_signature) {
  auto s = parse_signature(tpm_signature);
  if (!s || s->algorithm != alg::ecdsa || s->hash != alg::sha256)
    return no_such_key("ECDSA signature");
  auto first = padded(s->r, 32), second = padded(s->s, 32);
  if (first.empty() || second.empty())
    return no_such_key("ECDSA signature");
  pki::raw_signature out;
  std::copy(first.begin(), first.end(), out.begin());
  std::copy(second.begin(), second.end(), out.begin() + 32);
  return out;
}

}  // namespace

result<machine_tpm::derived> machine_tpm::derive(handle hierarchy,
                                                 const public_area& from) {
  const auto& auth =
      hierarchy == hierarchy::owner ? passwords_.owner : passwords_.endorsement;
  BC_TRY(made, device_.create_primary(hierarchy, auth, from));
  return derived{held{device_, made.at}, std::move(made.public_area)};
}

result<machine_tpm::ek_key> machine_tpm::open_ek(
    const ek_candidate& candidate) {
  if (!candidate.from) {
    BC_TRY(area, device_.read_public(persistent_ek));
    return ek_key{std::nullopt, persistent_ek, std::move(area)};
  }
  BC_TRY(made, derive(hierarchy::endorsement, *candidate.from));
  auto at = made.object.at();
  return ek_key{std::move(made.object), at, std::move(made.public_area)};
}

bool machine_tpm::is_lacked(const ek_candidate& candidate) const noexcept {
  return candidate.from && lacks_kind(device_.last_code());
}

result<std::optional<bytes>> machine_tpm::public_of(
    const ek_candidate& candidate) {
  auto key = open_ek(candidate);
  if (key)
    return std::move(key.value().public_area);
  if (is_lacked(candidate))
    return std::nullopt;
  return std::move(key).error();
}

result<machine_tpm::ek_key> machine_tpm::open_again(const chosen_ek& ek) {
  BC_TRY(store, read_ek_store(device_));
  // A vendor may have left two hints that a name stands for.
  for (const auto& candidate : candidates_named(ek.kind, store)) {
    auto key = open_ek(candidate);
    if (key && key.value().public_area == ek.public_area)
      return key;
    if (!key && !is_lacked(candidate))
      return key;
  }
  return fail(errc::invalid_state,
              "the TPM has no EK of kind " + ek.kind + ", or another");
}

result<tpm_facts> machine_tpm::facts() {
  // TPM_PT_MANUFACTURER, TPM_PT_PERMANENT and its bits (part 2, section 8.6).
  constexpr std::uint32_t pt_manufacturer = 0x105, pt_permanent = 0x200;
  constexpr std::uint32_t owner_auth_set = 1, endorsement_auth_set = 2,
                          in_lockout = 1 << 9;
  BC_TRY(maker, device_.property(pt_manufacturer));
  BC_TRY(permanent, device_.property(pt_permanent));
  BC_TRY(store, read_ek_store(device_));
  tpm_facts out;
  for (int shift = 24; shift >= 0; shift -= 8)
    if (auto c = static_cast<char>(maker.value_or(0) >> shift & 0xff);
        c > ' ' && c <= '~')
      out.manufacturer += c;
  const auto bits = permanent.value_or(0);
  out.owner_has_password = (bits & owner_auth_set) != 0;
  out.endorsement_has_password = (bits & endorsement_auth_set) != 0;
  out.in_lockout = (bits & in_lockout) != 0;
  for (const auto& kind : ek_kinds)
    if (store.certificates.contains(kind.certificate_index))
      out.certificates.emplace_back(kind.name);
  return out;
}

result<chosen_ek> machine_tpm::choose_ek(
    const std::optional<std::string>& recorded) {
  BC_TRY(store, read_ek_store(device_));
  chosen_ek out;
  for (const auto& kind : ek_kinds) {
    auto der = store.certificates.find(kind.certificate_index);
    if (der == store.certificates.end())
      continue;
    auto candidates = candidates_of(kind, store);
    if (recorded)
      std::erase_if(candidates,
                    [&](const auto& one) { return one.name != *recorded; });
    auto certificate = ek_certificate::read(der->second);
    if (candidates.empty() || !certificate)
      continue;
    for (const auto& candidate : candidates) {
      BC_TRY(key, public_of(candidate));
      auto area = key ? parse_public(*key) : std::nullopt;
      if (area && certificate->is_for(*area))
        return chosen_ek{
            candidate.name, std::move(*key), der->second, store.chain, {}};
    }
    out.warning = "the EK certificate at index " +
                  text_of_handle(kind.certificate_index) +
                  " is for no key of this TPM";
  }
  out.kind = recorded.value_or("rsa-2048");
  for (const auto& candidate : candidates_named(out.kind, store)) {
    BC_TRY(key, public_of(candidate));
    if (key && parse_public(*key)) {
      out.public_area = std::move(*key);
      return out;
    }
  }
  return fail(errc::invalid_state, "this TPM makes no EK of kind " + out.kind);
}

result<bytes> machine_tpm::ak_public() {
  BC_TRY(ak, derive(hierarchy::owner, ak_template()));
  return std::move(ak.public_area);
}

result<device::key_blobs> machine_tpm::create_node_key() {
  BC_TRY(root, derive(hierarchy::owner, srk_template()));
  return device_.create(root.object.at(), node_key_template());
}

result<held> machine_tpm::load(const device::key_blobs& key) {
  BC_TRY(root, derive(hierarchy::owner, srk_template()));
  BC_TRY(at, device_.load(root.object.at(), key));
  return held{device_, at};
}

result<pki::raw_signature> machine_tpm::sign(const device::key_blobs& key,
                                             const pki::sha256_digest& d) {
  BC_TRY(loaded, load(key));
  BC_TRY(signature, device_.sign(loaded.at(), d));
  return raw_of(signature);
}

result<bytes> machine_tpm::csr(const device::key_blobs& key) {
  BC_TRY(pub, public_key_of(key));
  auto info = pki::csr_info(pub);
  BC_TRY(signature, sign(key, pki::sha256(info)));
  return pki::assemble_csr(info, signature);
}

result<secret_bytes> machine_tpm::activate(const chosen_ek& ek,
                                           byte_view credential_blob,
                                           byte_view encrypted_secret) {
  BC_TRY(ak, derive(hierarchy::owner, ak_template()));
  BC_TRY(key, open_again(ek));
  auto area = parse_public(key.public_area);
  if (!area)
    return no_such_key("EK");
  // The high range of templates goes by the EK's own empty authorisation.
  if (area->has(attribute::user_with_auth))
    return device_.activate(ak.object.at(), key.at, 0, credential_blob,
                            encrypted_secret);
  BC_TRY(opened,
         device_.endorsement_session(area->name_alg, passwords_.endorsement));
  held session{device_, opened};
  return device_.activate(ak.object.at(), key.at, session.at(), credential_blob,
                          encrypted_secret);
}

result<device::certified> machine_tpm::certify(const device::key_blobs& key,
                                               byte_view csr_der) {
  BC_TRY(loaded, load(key));
  BC_TRY(ak, derive(hierarchy::owner, ak_template()));
  return device_.certify(loaded.at(), ak.object.at(), pki::sha256(csr_der));
}

}  // namespace bc::daemon::tpm
