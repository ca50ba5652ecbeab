#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "pki/ossl.hpp"
#include "pki/tpm/code.hpp"

#include <optional>
#include <vector>

// OpenSSL's X.509 of EK certificates; included by pki/tpm/*.cpp alone.

namespace bc::pki::tpm {

/// Null unless OpenSSL reads it, to the last byte.
[[nodiscard]] ossl::x509 read_x509(byte_view der);

/// As ek_certificate::check_chain. A root or intermediate that is no
/// certificate counts for nothing.
[[nodiscard]] std::optional<code> check_ek_chain(
    X509* leaf, const std::vector<bytes>& roots,
    const std::vector<bytes>& intermediates, const std::vector<bytes>& sent,
    time_point now);

}  // namespace bc::pki::tpm
