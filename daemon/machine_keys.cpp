#include "daemon/machine_keys.hpp"

#include "daemon/helper_client.hpp"
#include "daemon/tpm/local_keeper.hpp"
#include "pki/certificate.hpp"
#include "pki/tpm/identity.hpp"

#include <algorithm>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::string_view what_to_do =
    "; restore access to the TPM, or, where it was cleared or replaced, join "
    "again as root: bcd join --reset --yes --attestor tpm";

// A join has all powers of root, bcd.service has none of them: what the one
// opens the other may not, and the node would stay down.
std::string unfit(const tpm_settings& t) {
  const auto group = tpm::group_of_device(t.tcti);
  if (!group || ::geteuid() != 0 || ::getegid() == *group)
    return {};
  std::vector<gid_t> groups(
      static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const auto count =
      ::getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i)
    if (groups[static_cast<std::size_t>(i)] == *group)
      return {};
  return "its device is of group " + std::to_string(*group) +
         ", and bcd.service opens it only as a member: systemctl edit bcd, "
         "[Service] SupplementaryGroups=" +
         std::to_string(*group) + ", and [tpm] enabled = \"true\"";
}

}  // namespace

result<node_key> machine_keys::make_in_tpm() const {
  if (!keeper_)
    return fail(errc::unavailable, "there is no TPM");
  BC_TRY(blobs, keeper_->create_node_key());
  return node_key::in_tpm(std::move(blobs), keeper_);
}

result<node_key> machine_keys::make() const {
  if (required_)
    return make_in_tpm();
  if (keeper_ && keeper_->is_there()) {
    auto made =
        unfit_.empty() ? make_in_tpm() : fail(errc::unavailable, unfit_);
    // A key that is made and does not sign is found out here and not in the
    // first handshake.
    auto tried = made ? made.value().sign(pki::sha256({})) : made.error();
    if (tried)
      return made;
    if (warn_)
      warn_("warning: the TPM cannot hold this node's key (" +
            tried.error().message +
            "); the key is in a file instead. To do without the TPM: [tpm] "
            "enabled = \"false\"");
  }
  return node_key{pki::private_key::generate()};
}

key_places key_places_of(const config& c, machine_keys::say warn) {
  using use = tpm_settings::use;
  if (c.tpm.enabled == use::never)
    return {{tpm::no_keeper(), false, std::move(warn)}, nullptr};
  const bool required = c.tpm.enabled == use::always;
  auto here = tpm::local_keeper(c.tpm);
  return {{here, required, std::move(warn), c.helper ? "" : unfit(c.tpm)},
          here};
}

key_places node_key_places_of(const config& c, machine_keys::say warn) {
  using use = tpm_settings::use;
  if (!c.helper || c.tpm.enabled == use::never)
    return key_places_of(c, std::move(warn));
  return {{helper_keeper(c.helper->socket), c.tpm.enabled == use::always,
           std::move(warn)},
          nullptr};
}

std::optional<std::string> named_ak(byte_view leaf_der) {
  auto leaf = pki::parse_certificate(leaf_der);
  std::optional<std::string> out;
  if (leaf)
    for (const auto& uri : leaf.value().uris)
      if (pki::tpm::is_ak_statement(uri))
        out = out ? *out + " " + uri : uri;
  return out;
}

fault wrong_tpm(const fault& why) {
  return fail(why.code, std::string{wrong_tpm_text} + ": " + why.message +
                            std::string{what_to_do});
}

result<wire::key_attestation> attest_key(const machine_keys& keys,
                                         const std::string& ak,
                                         const node_key& key,
                                         byte_view csr_der) {
  const auto& keeper = keys.keeper();
  if (!keeper)
    return wrong_tpm(fail(errc::unavailable, "there is no TPM"));
  wire::key_attestation out;
  auto derived = keeper->ak_public();
  if (!derived)
    return wrong_tpm(derived.error());
  out.ak_public = std::move(derived).value();
  if (auto there = tpm::statement_of(out.ak_public); there != ak)
    return wrong_tpm(
        fail(errc::invalid_state,
             "the certificate names " + ak + ", the TPM derives " + there));
  if (key.blobs() == nullptr)
    return wrong_tpm(fail(errc::invalid_state, "the new key is not in it"));
  auto certified = keeper->certify(*key.blobs(), csr_der);
  if (!certified)
    return wrong_tpm(certified.error());
  out.node_key_public = key.blobs()->public_area;
  out.certify_info = std::move(certified.value().info);
  out.signature = std::move(certified.value().signature);
  return out;
}

}  // namespace bc::daemon
