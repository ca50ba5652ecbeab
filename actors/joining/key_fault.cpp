#include "actors/joining/key_fault.hpp"

#include "pki/tpm/key_attestation.hpp"

#include <algorithm>

namespace bc::actors {

namespace {

using pki::tpm::code;

constexpr code node_key_codes[] = {
#define BC_X(name, text) code::name,
    BC_TPM_NODE_KEY_CODES(BC_X)
#undef BC_X
        code::key_attestation_missing,
    code::key_attestation_ak};

constexpr bool is_of_an_old_certificate(code c) {
  return c == code::key_attestation_missing || c == code::key_attestation_ak;
}

constexpr bool has_reason(std::string_view attestor, code c) {
  return events::reason_of(attestor, pki::tpm::text_of(c)).has_value();
}

// A code without a reason does not compile.
static_assert(std::ranges::all_of(pki::tpm::every_code, [](code c) {
  return is_of_an_old_certificate(c) != has_reason("tpm", c);
}));
static_assert(std::ranges::all_of(node_key_codes, [](code c) {
  return has_reason("x509pop", c) && has_reason("renew", c);
}));

}  // namespace

events::refusal_reason reason_of(std::string_view attestor, code c) {
  return events::reason_of(attestor, pki::tpm::text_of(c)).value();
}

std::optional<events::refusal_reason> key_fault_of(
    std::string_view attestor, const std::vector<std::string>& statements,
    const std::optional<wire::key_attestation>& evidence, byte_view csr_der) {
  auto fault = pki::tpm::check_renewal(statements, evidence, csr_der);
  if (!fault)
    return std::nullopt;
  return reason_of(attestor, *fault);
}

}  // namespace bc::actors
