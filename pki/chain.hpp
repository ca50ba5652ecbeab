#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::pki {

/// Which check of a pinned server chain failed.
enum class chain_fault { none, no_chain, pin, signature, name, usage };
[[nodiscard]] std::string_view chain_fault_text(chain_fault f) noexcept;

/// Judges the chain a TLS server presented (leaf first) against the serving
/// CA's pin: some certificate after the leaf is a CA with that SPKI pin, it
/// signed the leaf, the leaf is for serverAuth and names the host (DNS exact
/// or one leading wildcard label; IP literal). A pin of the leaf itself is
/// refused (CASES 174). Validity is judged apart, by the signed server time.
[[nodiscard]] chain_fault check_server_chain(const std::vector<bytes>& chain,
                                             std::string_view serving_ca_pin,
                                             std::string_view host);

/// The same with several CAs: good under any of them. Else the fault under the
/// one that got furthest.
[[nodiscard]] chain_fault check_server_chain(
    const std::vector<bytes>& chain,
    const std::vector<std::string>& serving_ca_pins, std::string_view host);

/// True when both leaf and CA are valid at the time.
[[nodiscard]] bool chain_valid_at(const std::vector<bytes>& chain,
                                  time_point now);

}  // namespace bc::pki
