#pragma once

#include "base/json.hpp"
#include "events/node.hpp"

#include <string_view>

/// Private to the node's codec, which is in several files.
namespace bc::events::node::detail {

[[nodiscard]] event_write write(const joined& j);
[[nodiscard]] moves effect(const joined& j);
[[nodiscard]] result<event> read_joined(const json::reader& data,
                                        const json::reader& internal);

[[nodiscard]] event_write write(const renewed& r);
[[nodiscard]] moves effect(const renewed& r);
[[nodiscard]] result<event> read_renewed(const json::reader& data,
                                         const json::reader& internal);

[[nodiscard]] event_write write(const connected& c);
[[nodiscard]] event_write write(const disconnected& d);
[[nodiscard]] event_write write(const acceptance_started& a);
[[nodiscard]] event_write write(const acceptance_failed& a);
[[nodiscard]] event_write write(const certificate_expiring& c);
[[nodiscard]] event_write write(const inventory_recorded& i);
[[nodiscard]] moves effect(const inventory_recorded& i);
[[nodiscard]] result<event> read_inventory(const json::reader& data,
                                           const json::reader& internal);
/// As `identifiers`, where there are any.
void put_identifiers(json::writer& out,
                     const std::vector<pki::identifier_hash>& all);
[[nodiscard]] result<std::vector<pki::identifier_hash>> read_identifiers(
    const json::reader& in);
/// nullopt for a type that is not of sessions, acceptance and warnings.
[[nodiscard]] std::optional<result<event>> decode_of_session(const envelope& e);

// What every event with a new certificate has.

/// How its `data` names the certificate's serial and generation.
struct certificate_names {
  std::string_view serial;
  std::string_view generation;
};
/// The certificate's fields of `internal`.
void put_certificate(json::writer& internal, const certificate& c);
[[nodiscard]] result<certificate> read_certificate(
    const json::reader& data, const json::reader& internal,
    const certificate_names& names);
/// Takes its serial and key, and the answer that gave it to `subject`.
void claim_certificate(moves& to, const certificate& c,
                       std::string_view subject, time_point now);
/// The claim that a proof is used once by.
void claim_proof(moves& to, std::string_view proof_sha256, time_point now);
[[nodiscard]] claim_move take(std::string claim,
                              std::optional<time_point> until);

}  // namespace bc::events::node::detail
