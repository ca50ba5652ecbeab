#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Certificates of the internal CA: how a gateway and an API process know each
/// other (DESIGN section 7). The role is the whole subject, one
/// OU=bc-internal:<role>, and the key's use follows from it: a `gateway` is a
/// TLS client and never serves, an `api` is a TLS server and never a client.
namespace bc::pki {

enum class internal_role { gateway, api };
/// "gateway", "api".
[[nodiscard]] std::string_view role_text(internal_role role) noexcept;

inline constexpr std::chrono::days internal_lifetime{90};

/// A new key and its certificate, 90 days. `names` (DNS or IP literals) say
/// where it runs, for people; the verifier goes by the role alone, since every
/// API process holds the key that makes these. May be empty. INVALID_INPUT for
/// a name that is neither.
[[nodiscard]] result<issuer> issue_internal_certificate(
    const issuer& internal_ca, internal_role role,
    const std::vector<std::string>& names, time_point now);

/// What the certificate makes its holder: nullopt unless the internal CA
/// signed it, its subject is byte for byte one that we write, its extended key
/// usage is that of the role, and it is no CA. Its dates are TLS's to judge.
[[nodiscard]] std::optional<internal_role> internal_role_of(
    byte_view der, byte_view internal_ca_der);
/// The same under any of them: while the internal CA is replaced, each side may
/// still have a certificate of the one before.
[[nodiscard]] std::optional<internal_role> internal_role_of(
    byte_view der, const std::vector<bytes>& internal_ca_ders);

}  // namespace bc::pki
