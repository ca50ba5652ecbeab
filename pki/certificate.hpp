#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "pki/key.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bc::pki {

/// A certificate authority or server identity: a key and its certificate.
struct issuer {
  private_key key;
  bytes certificate;  // DER
};

enum class certificate_role { node, site, ramdisk, node_tenant };
/// "node", "site", "ramdisk", "node-tenant".
[[nodiscard]] std::string_view role_text(certificate_role role) noexcept;
[[nodiscard]] std::optional<certificate_role> parse_role(
    std::string_view text) noexcept;

inline constexpr seconds max_node_lifetime{86'400};
inline constexpr seconds max_ramdisk_lifetime{7'200};
/// How far NotBefore lies in the past (CASES 97).
inline constexpr seconds backdating{300};

struct node_certificate_request {
  public_key subject_key;
  std::string trust_domain;
  std::string site;  // site id
  std::string node;  // node id
  certificate_role role = certificate_role::node;
  std::vector<std::string> statements;  // urn:bc:… URIs, after the SPIFFE id
  time_point now;
  /// NotAfter - NotBefore; cut to the role's maximum.
  seconds lifetime = max_node_lifetime;
  std::array<std::uint8_t, 16> serial_random;  // made positive and non-zero
};

struct issued_certificate {
  bytes der;
  std::string
      serial;  // lower-case hex, no leading zero digits dropped: 32 digits
  time_point not_before;
  time_point not_after;
};

/// Signs a node's client certificate: ECDSA P-256, exactly one SPIFFE URI SAN
/// spiffe://<trustDomain>/site/<siteId>/node/<nodeId> first, then statements;
/// subject OU=bc-role:<role> alone; CA false, digitalSignature, clientAuth;
/// authority and subject key id; no private-arc OID. Written as DER by hand
/// (the X509 API costs 150 us more per certificate).
[[nodiscard]] issued_certificate issue_node_certificate(
    const issuer& node_ca, const node_certificate_request& request);

/// What we read from a certificate of our own making.
struct leaf_view {
  public_key key;
  std::string serial;                    // as issued_certificate::serial
  std::vector<std::string> uris;         // URI SANs, in order
  std::vector<std::string> dns_names;    // DNS SANs
  std::optional<certificate_role> role;  // nullopt unless exactly one bc-role
  time_point not_before;
  time_point not_after;
  bool is_ca = false;
};

/// INVALID_INPUT for anything but a DER X.509 v3 certificate with a P-256 key
/// and nothing trailing.
[[nodiscard]] result<leaf_view> parse_certificate(byte_view der);

/// True when `der` is signed by the CA's key and names it as issuer.
[[nodiscard]] bool is_signed_by(byte_view der, byte_view ca_der);

/// A self-signed P-256 CA with the given common name, valid ten years,
/// pathLen 0, keyCertSign + cRLSign.
[[nodiscard]] result<issuer> make_ca(std::string_view common_name,
                                     time_point now);

/// A TLS server certificate for the names (DNS or IP literals) under the
/// serving CA: 90 days, serverAuth. INVALID_INPUT for an empty list or a name
/// that is neither.
[[nodiscard]] result<issuer> issue_server_certificate(
    const issuer& serving_ca, const std::vector<std::string>& names,
    time_point now);

/// PEM of a certificate.
[[nodiscard]] std::string certificate_pem(byte_view der);
[[nodiscard]] result<bytes> certificate_from_pem(std::string_view pem);
/// The PEM of each, one after the other, as an authority that is being replaced
/// is written (rotation.hpp).
[[nodiscard]] std::string certificates_pem(const std::vector<bytes>& ders);
/// At least one and at most 16 certificates, each a PEM block, nothing but
/// blanks around them; else INVALID_INPUT.
[[nodiscard]] result<std::vector<bytes>> certificates_from_pem(
    std::string_view pem);

}  // namespace bc::pki
