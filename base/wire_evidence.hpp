#pragma once

#include "base/json.hpp"
#include "base/wire_attest.hpp"

#include <optional>

/// Private to the codecs of the daemon protocol: the members of `evidence`.
namespace bc::wire::detail {

/// nullopt, here as below: there is none.
void put_x509pop(json::writer& out, const x509pop_evidence& evidence);
[[nodiscard]] result<std::optional<x509pop_evidence>> x509pop_of(
    const json::reader& evidence);

void put_tpm(json::writer& out, const tpm_evidence& evidence);
[[nodiscard]] result<std::optional<tpm_evidence>> tpm_of(
    const json::reader& evidence);
void put_tpm(json::writer& out, const tpm_challenge_evidence& evidence);
[[nodiscard]] result<std::optional<tpm_challenge_evidence>> tpm_challenge_of(
    const json::reader& evidence);

void put_discovery(json::writer& out, const discovery_evidence& evidence);
[[nodiscard]] result<std::optional<discovery_evidence>> discovery_of(
    const json::reader& evidence);

/// `keyAttestation`.
void put_attestation(json::writer& out, const key_attestation& attestation);
[[nodiscard]] result<std::optional<key_attestation>> attestation_of(
    const json::reader& from);

/// The parts of a challenge that its answer repeats.
inline constexpr std::size_t max_kid = 64;
[[nodiscard]] result<std::string> kid_of(const json::reader& from);

}  // namespace bc::wire::detail
