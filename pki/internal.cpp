#include "pki/internal.hpp"

#include "pki/authority.hpp"
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/x509.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

constexpr internal_role roles[] = {internal_role::gateway, internal_role::api};

bytes subject_of(internal_role role) {
  return x509::name(oids::organizational_unit,
                    "bc-internal:" + std::string{role_text(role)});
}

bytes usage_of(internal_role role) {
  return der::wrap(der::sequence, {role == internal_role::gateway
                                       ? byte_view{oids::client_auth}
                                       : byte_view{oids::server_auth}});
}

bool is_used_as(const x509::parts& leaf, internal_role role) {
  const auto* usage = leaf.find(oids::extended_key_usage);
  return usage != nullptr && std::ranges::equal(usage->value, usage_of(role));
}

}  // namespace

std::string_view role_text(internal_role role) noexcept {
  switch (role) {
    case internal_role::gateway:
      return "gateway";
    case internal_role::api:
      return "api";
  }
  return {};
}

result<issuer> issue_internal_certificate(const issuer& internal_ca,
                                          internal_role role,
                                          const std::vector<std::string>& names,
                                          time_point now) {
  return issue_leaf(internal_ca,
                    {.subject = subject_of(role),
                     .usage = usage_of(role),
                     .names = names,
                     .lifetime = internal_lifetime},
                    now);
}

std::optional<internal_role> internal_role_of(byte_view der,
                                              byte_view internal_ca_der) {
  auto parts = x509::split(der);
  if (!parts || x509::is_ca(parts.value()) != false)
    return std::nullopt;
  for (auto role : roles)
    if (std::ranges::equal(parts.value().subject, subject_of(role)))
      return is_used_as(parts.value(), role) &&
                     is_signed_by(der, internal_ca_der)
                 ? std::optional{role}
                 : std::nullopt;
  return std::nullopt;
}

std::optional<internal_role> internal_role_of(
    byte_view der, const std::vector<bytes>& internal_ca_ders) {
  for (const auto& ca : internal_ca_ders)
    if (auto role = internal_role_of(der, byte_view{ca}))
      return role;
  return std::nullopt;
}

}  // namespace bc::pki
