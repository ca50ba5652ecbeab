#include "daemon/identity.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/certificate.hpp"

namespace bc::daemon {

namespace {

constexpr int identity_version = 1;

// Absent where an older server answered last.
result<std::vector<std::string>> pins_in(const json::reader& from,
                                         std::string_view name) {
  if (!from.has(name))
    return std::vector<std::string>{};
  return from.texts(name);
}

}  // namespace

identity identity_of(const config& c, const wire::joined_body& b,
                     time_point not_after) {
  return {b.node_id,
          b.site_id,
          b.trust_domain,
          b.role,
          c.gateway_url,
          b.certificate_chain,
          b.command_signing_keys,
          not_after,
          b.serving_ca_pins,
          b.join_signing_pins,
          c.serving_ca_spki_pin,
          c.join_signing_key_pin};
}

std::string encode(const identity& who) {
  std::vector<std::string> chain;
  for (const auto& der : who.certificate_chain)
    chain.push_back(pki::certificate_pem(der));
  std::vector<std::string> keys;
  for (const auto& spki : who.command_signing_keys)
    keys.push_back(to_base64(spki));
  json::writer out;
  out.begin_object()
      .field("version", identity_version)
      .field("nodeId", who.node_id)
      .field("siteId", who.site)
      .field("trustDomain", who.trust_domain)
      .field("role", who.role)
      .field("gatewayUrl", who.gateway_url)
      .field("notAfter", to_rfc3339(who.not_after))
      .field("certificateChain", chain)
      .field("commandSigningKeys", keys);
  if (!who.serving_ca_pins.empty())
    out.field("servingCaPins", who.serving_ca_pins);
  if (!who.join_signing_pins.empty())
    out.field("joinSigningPins", who.join_signing_pins);
  if (!who.installed_serving_ca_pin.empty())
    out.field("installedServingCaPin", who.installed_serving_ca_pin);
  if (!who.installed_join_signing_pin.empty())
    out.field("installedJoinSigningPin", who.installed_join_signing_pin);
  if (!who.attestor.empty())
    out.field("attestor", who.attestor);
  if (!who.ek_kind.empty())
    out.field("ekKind", who.ek_kind);
  out.end_object();
  return out.str() + "\n";
}

result<identity> decode_identity(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  BC_TRY(version, from.integer("version"));
  if (version != identity_version)
    return fail(errc::invalid_input, "an unknown version", "/version");
  identity who;
  BC_TRY(node, from.text("nodeId"));
  BC_TRY(site, from.text("siteId"));
  BC_TRY(domain, from.text("trustDomain"));
  BC_TRY(role, from.text("role"));
  BC_TRY(url, from.text("gatewayUrl"));
  BC_TRY(not_after_text, from.text("notAfter"));
  BC_TRY(not_after, from_rfc3339(not_after_text));
  BC_TRY(chain, from.texts("certificateChain"));
  BC_TRY(keys, from.texts("commandSigningKeys"));
  BC_TRY(serving, pins_in(from, "servingCaPins"));
  BC_TRY(signing, pins_in(from, "joinSigningPins"));
  BC_TRY(serving_then, from.optional_text("installedServingCaPin"));
  BC_TRY(signing_then, from.optional_text("installedJoinSigningPin"));
  BC_TRY(attestor, from.optional_text("attestor"));
  BC_TRY(ek_kind, from.optional_text("ekKind"));
  for (const auto& pem : chain) {
    BC_TRY(der, pki::certificate_from_pem(pem));
    who.certificate_chain.push_back(der);
  }
  for (const auto& key : keys) {
    BC_TRY(spki, from_base64(key));
    who.command_signing_keys.push_back(spki);
  }
  if (who.certificate_chain.empty())
    return fail(errc::invalid_input, "is empty", "/certificateChain");
  who.node_id = node;
  who.site = site;
  who.trust_domain = domain;
  who.role = role;
  who.gateway_url = url;
  who.not_after = not_after;
  who.serving_ca_pins = std::move(serving);
  who.join_signing_pins = std::move(signing);
  who.installed_serving_ca_pin = serving_then.value_or("");
  who.installed_join_signing_pin = signing_then.value_or("");
  who.attestor = attestor.value_or("");
  who.ek_kind = ek_kind.value_or("");
  return who;
}

}  // namespace bc::daemon
