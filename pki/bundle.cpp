#include "pki/bundle.hpp"

#include "pki/authority.hpp"
#include "pki/spiffe.hpp"

#include <utility>
#include <vector>

namespace bc::pki {

std::string_view key_text(key_name k) noexcept {
  switch (k) {
    case key_name::node_ca:
      return "node-ca";
    case key_name::serving_ca:
      return "serving-ca";
    case key_name::internal_ca:
      return "internal-ca";
    case key_name::join_signing:
      return "join-signing";
    case key_name::join_encryption:
      return "join-encryption";
    case key_name::command_signing:
      return "command-signing";
    case key_name::journal_checkpoint:
      return "journal-checkpoint";
  }
  return {};
}

std::optional<key_name> parse_key_name(std::string_view text) noexcept {
  for (auto k : every_key)
    if (text == key_text(k))
      return k;
  return std::nullopt;
}

const private_key& key_of(const key_bundle& bundle, key_name which) {
  switch (which) {
    case key_name::node_ca:
      return bundle.node_ca.key;
    case key_name::serving_ca:
      return bundle.serving_ca.key;
    case key_name::internal_ca:
      return bundle.internal_ca.key;
    case key_name::join_signing:
      return bundle.join_signing.key;
    case key_name::join_encryption:
      return bundle.join_encryption;
    case key_name::command_signing:
      return bundle.command_signing;
    case key_name::journal_checkpoint:
      break;
  }
  return bundle.journal_checkpoint;
}

std::vector<public_key> public_keys_of(const key_bundle& bundle,
                                       key_name which) {
  std::vector<public_key> out{key_of(bundle, which).pub()};
  if (auto other = bundle.others.find(which); other != bundle.others.end())
    out.push_back(other->second.key.pub());
  return out;
}

std::vector<public_key> journal_keys_of(const key_bundle& bundle) {
  auto out = public_keys_of(bundle, key_name::journal_checkpoint);
  for (const auto& der : bundle.past_journal_keys)
    if (auto key = public_key::from_spki(der))
      out.push_back(key.value());
  return out;
}

std::vector<bytes> certificates_of(const key_bundle& bundle, key_name which) {
  std::vector<bytes> out;
  if (which == key_name::node_ca)
    out.push_back(bundle.node_ca.certificate);
  else if (which == key_name::serving_ca)
    out.push_back(bundle.serving_ca.certificate);
  else if (which == key_name::internal_ca)
    out.push_back(bundle.internal_ca.certificate);
  else if (which == key_name::join_signing)
    out.push_back(bundle.join_signing.certificate);
  else
    return out;
  if (auto other = bundle.others.find(which); other != bundle.others.end())
    out.push_back(other->second.certificate);
  return out;
}

result<key_bundle> make_bundle(std::string_view trust_domain, time_point now) {
  BC_TRY(domain, parse_trust_domain(trust_domain));
  BC_TRY(node_ca, make_ca("better-compute node CA", now));
  BC_TRY(serving_ca, make_ca("better-compute serving CA", now));
  BC_TRY(internal_ca, make_ca("better-compute internal CA", now));
  BC_TRY(join_signing, make_self_signed("better-compute join signing", now));
  return key_bundle{std::move(domain),       now,
                    std::move(node_ca),      std::move(serving_ca),
                    std::move(internal_ca),  std::move(join_signing),
                    private_key::generate(), private_key::generate(),
                    private_key::generate()};
}

bundle_pins pins_of(const key_bundle& bundle) {
  return {bundle.serving_ca.key.pub().pin(),
          bundle.join_signing.key.pub().pin(),
          bundle.join_encryption.pub().pin()};
}

}  // namespace bc::pki
