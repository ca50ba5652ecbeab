#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace bc::pki {

/// A key with a self-signed certificate that signs data but no certificates:
/// digitalSignature alone, CA false, valid ten years.
[[nodiscard]] result<issuer> make_self_signed(std::string_view common_name,
                                              time_point now);

/// 16 random octets as a certificate's serial.
[[nodiscard]] std::array<std::uint8_t, 16> fresh_serial();

/// DNS names and IP literals as GeneralNames, one after another. INVALID_INPUT
/// for a name that is neither.
[[nodiscard]] result<bytes> general_names(
    const std::vector<std::string>& names);

}  // namespace bc::pki
