#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bc::pki {

/// How far a seal's `iat` may lie from the server's time (CASES 83).
inline constexpr seconds seal_window{86'400};
inline constexpr std::size_t max_seal_size = 4096;

/// What a seal is for: one CSR, and the claims that travel beside it in the
/// open (claims_digest.hpp) where the daemon binds them.
struct seal_binding {
  sha256_digest csr_sha256;
  std::optional<sha256_digest> claims;

  seal_binding(const sha256_digest& csr,
               std::optional<sha256_digest> with = std::nullopt)
      : csr_sha256(csr), claims(with) {}
};

/// Compact JWE (RFC 7516) of the token to the JoinService encryption key:
/// ECDH-ES+A256KW, A256GCM; protected header alg, enc, epk, typ "bcjt+jwe",
/// iat (seconds), csr and claims (base64url SHA-256; claims where bound).
[[nodiscard]] std::string seal_token(const public_key& recipient,
                                     std::string_view token,
                                     const seal_binding& made_for,
                                     time_point now);

/// The same with the ephemeral key, content key and IV given; for vectors.
[[nodiscard]] std::string seal_token_with(const public_key& recipient,
                                          const private_key& ephemeral,
                                          byte_view content_key, byte_view iv,
                                          std::string_view token,
                                          const seal_binding& made_for,
                                          time_point now);

/// Opens a seal. Any other header parameter, algorithm, part count, padding,
/// blank, IV or tag length, a seal for another CSR or other claims, or an `iat`
/// out of the window is INVALID_INPUT; `detail` says which. A seal that binds
/// no claims opens.
[[nodiscard]] result<secret_bytes> open_seal(const private_key& recipient,
                                             std::string_view compact,
                                             const seal_binding& asked_for,
                                             time_point now);

/// The JWK (RFC 7517) of a P-256 public key: kty, crv, x, y.
[[nodiscard]] std::string to_jwk(const public_key& key);
/// Strict: coordinates are 32 bytes each, no `d`; else INVALID_INPUT.
[[nodiscard]] result<public_key> from_jwk(std::string_view json);

/// Concat KDF (NIST SP 800-56A) with empty apu and apv, AlgorithmID
/// "ECDH-ES+A256KW", 256 bits.
[[nodiscard]] secret_bytes derive_kek(const secret_bytes& shared_x);

}  // namespace bc::pki
