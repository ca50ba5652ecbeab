#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/key.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A release of `bcd`: which programs a version is, told by who holds the
/// release key (spec: joining#generate-the-install-script).
namespace bc::pki {

inline constexpr std::size_t max_release_manifest = 64 * 1024;

/// One program of a release.
struct release_file {
  std::string arch;  // "amd64" or "arm64"
  sha256_digest sha256;
  std::int64_t size = 0;  // bytes, at least 1

  bool operator==(const release_file&) const = default;
};

struct release {
  std::string version;
  std::string created_at;           // RFC 3339, UTC
  std::vector<release_file> files;  // one for each architecture
};

/// True for what may name a version: 1 to 64 of letters, digits, `.`, `+`, `-`
/// and `_`, a letter or digit first, no two dots together. It becomes a part of
/// paths and URLs.
[[nodiscard]] bool is_release_version(std::string_view text);
/// True for amd64 and arm64.
[[nodiscard]] bool is_release_arch(std::string_view text);

/// {"body","signingKey","sig"}: the base64 of the exact bytes that were signed
/// (purpose `release`), of the key's SPKI and of the signature. INVALID_INPUT
/// for a release that is not well formed.
[[nodiscard]] result<std::string> sign_release(const private_key& key,
                                               const release& r);

/// The release in a manifest whose key is one of `pins` ("sha256/…").
/// ACCESS_DENIED for another key or a signature that does not verify,
/// INVALID_INPUT for another form.
[[nodiscard]] result<release> open_release(
    std::string_view manifest, const std::vector<std::string>& pins);

}  // namespace bc::pki
