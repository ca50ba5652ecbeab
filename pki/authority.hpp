#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <string_view>

namespace bc::pki {

/// A key with a self-signed certificate that signs data but no certificates:
/// digitalSignature alone, CA false, valid ten years.
[[nodiscard]] result<issuer> make_self_signed(std::string_view common_name,
                                              time_point now);

}  // namespace bc::pki
