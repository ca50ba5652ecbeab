#pragma once

#include "daemon/tpm/ek_store.hpp"
#include "pki/tpm/structures.hpp"
#include "pki/tpm/templates.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon::tpm {

/// A key that an EK certificate may be for.
struct ek_candidate {
  /// What stands in identity.json: a name of pki::tpm::ek_kinds, alone or with
  /// "-nv" (the vendor's template), "-nonce" (its nonce in our template) or
  /// "-persistent" (the key at persistent_ek) behind it.
  std::string name;
  /// What to derive it from; nullopt: it is at persistent_ek.
  std::optional<pki::tpm::public_area> from;
};

/// Of one kind's certificate, in the order in which they are tried (spec:
/// ATTESTATION section 2.8): the vendor's template, its nonce, the low range,
/// the high range, the persistent key.
[[nodiscard]] std::vector<ek_candidate> candidates_of(
    const pki::tpm::ek_kind& kind, const ek_store& store);

/// Every candidate of that name; none for a name that is no candidate's, and
/// when the vendor's template or nonce is no longer there.
[[nodiscard]] std::vector<ek_candidate> candidates_named(std::string_view name,
                                                         const ek_store& store);

}  // namespace bc::daemon::tpm
