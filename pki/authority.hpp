#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::pki {

/// A key with a self-signed certificate that signs data but no certificates:
/// digitalSignature alone, CA false, valid ten years.
[[nodiscard]] result<issuer> make_self_signed(std::string_view common_name,
                                              time_point now);

struct leaf {
  bytes subject;                          // a whole Name
  bytes usage;                            // ExtendedKeyUsage
  const std::vector<std::string>& names;  // DNS or IP literals; may be empty
  std::chrono::days lifetime;
};
/// A new key for a TLS peer (digitalSignature alone, CA false) and its
/// certificate. INVALID_INPUT for a name that is neither DNS nor IP.
[[nodiscard]] result<issuer> issue_leaf(const issuer& ca, const leaf& what,
                                        time_point now);

}  // namespace bc::pki
