#pragma once

#include "base/json.hpp"
#include "base/wire_attest.hpp"

#include <optional>

/// Private to the codecs of the daemon protocol: the members of a join's
/// `evidence`.
namespace bc::wire::detail {

void put_x509pop(json::writer& out, const x509pop_evidence& evidence);
/// nullopt when there is none.
[[nodiscard]] result<std::optional<x509pop_evidence>> x509pop_of(
    const json::reader& evidence);

}  // namespace bc::wire::detail
