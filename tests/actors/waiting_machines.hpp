#pragma once

#include "actors/requests/deferral.hpp"
#include "events/streams.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

/// Machines whose joins are deferred, as an attestor would have it.
namespace bc::test {

inline std::string csr_of(char name) {
  return std::string(64, name);
}

/// A TPM without an EK certificate, on the site, of no pool.
inline actors::deferral_order order_of(const tenant_id& owner,
                                       const site_id& site,
                                       const std::string& machine,
                                       const std::string& csr) {
  actors::deferral_order out;
  out.site = site;
  out.tenant = owner;
  out.attestor = "tpm";
  auto ek = to_hex(pki::sha256(as_bytes(machine)));
  out.subject = events::join_request::tpm_subject(ek);
  out.seen.csr_sha256 = csr;
  out.seen.machine.serials = {"SN-" + machine};
  out.seen.machine.hostname = machine;
  out.seen.hardware_key = to_hex(pki::sha256(as_bytes("hw" + machine)));
  out.seen.trusted = true;
  out.seen.tpm = events::join_request::tpm_identity{
      ek, events::join_request::ek_certificate::absent, "", ""};
  out.correlation = "req-join";
  return out;
}

/// What becomes of it, on a ledger that answers before it returns.
inline result<actors::deferral_outcome> defer_now(
    const std::shared_ptr<actors::ledger>& streams,
    actors::deferral_order order, actors::deferral_limits limits = {}) {
  std::optional<result<actors::deferral_outcome>> got;
  actors::defer_join(streams, std::move(order), limits,
                     [&](result<actors::deferral_outcome> outcome) {
                       REQUIRE(!got);
                       got.emplace(std::move(outcome));
                     });
  REQUIRE(got);
  return std::move(*got);
}

/// "deferred", "approved", "rejected", "full", "moved" or the code.
inline std::string shortly(const result<actors::deferral_outcome>& outcome) {
  if (!outcome)
    return std::string{wire_text(outcome.error().code)};
  const auto& o = outcome.value();
  if (std::holds_alternative<actors::deferral>(o))
    return "deferred";
  if (std::holds_alternative<actors::approved_request>(o))
    return "approved";
  if (const auto* no = std::get_if<actors::deferral_refusal>(&o))
    return *no == actors::deferral_refusal::full ? "full" : "rejected";
  return "moved";
}

inline join_request_id id_of(const result<actors::deferral_outcome>& outcome) {
  INFO(shortly(outcome));
  REQUIRE(outcome);
  const auto* d = std::get_if<actors::deferral>(&outcome.value());
  REQUIRE(d != nullptr);
  return d->request;
}

}  // namespace bc::test
