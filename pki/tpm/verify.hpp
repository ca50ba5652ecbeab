#pragma once

#include "pki/tpm/structures.hpp"

namespace bc::pki::tpm {

/// The signature verifies over the bytes under the key, by the scheme and hash
/// of the key's own public area: what the signature says of itself must be
/// the same, so that it cannot choose a weaker one. Numbers may be short or
/// have leading zeros.
[[nodiscard]] bool verifies(const public_area& key, const signature& s,
                            byte_view message);

}  // namespace bc::pki::tpm
