#pragma once

#include "actors/requests/deferral.hpp"
#include "base/wire_attest.hpp"
#include "events/join_request.hpp"
#include "tests/actors/rejoin_world.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/support/ek_certificates.hpp"
#include "tests/support/soft_tpm.hpp"

#include <functional>
#include <optional>

namespace bc::test {

/// A machine with a TPM of software, and what it is about to join with; any
/// part may be changed before it is asked for.
struct tpm_machine {
  explicit tpm_machine(int n);

  testing::soft_key ek;
  testing::certification key;  // the node's, its CSR and its AK
  bytes ek_certificate;        // none
  std::vector<bytes> ek_chain;
  wire::claims claims;
  std::string role = "node";
  std::string site;  // as its configuration has it
  std::string node;  // that it says it is; none

  [[nodiscard]] std::string ek_hash() const;
  [[nodiscard]] std::string statement() const;
  /// A new node key with its CSR, as after --reset.
  void renew_key();

  /// The second leg, but for its evidence; the first leg for it.
  [[nodiscard]] wire::join_request request() const;
  [[nodiscard]] wire::challenge_request first_leg() const;
  /// What the TPM makes of a challenge.
  [[nodiscard]] wire::tpm_evidence answer(
      const wire::challenge_body& given) const;
};

/// The vendor that the worlds of tests trust.
const testing::ek_issuer& ek_vendor();

/// Read models that show which places of a site are taken.
class places_shown : public sample_queries {
 public:
  result<std::vector<std::int64_t>> taken_places(std::string_view site,
                                                 time_point now) override;
  std::vector<std::int64_t> taken;
};

/// A deployment that serves the `tpm` attestor, with no EK known to it.
class tpm_world : public rejoin_world {
 public:
  explicit tpm_world(const open_journal& open = nullptr);

  /// The nth machine, whose EK nobody knows yet.
  [[nodiscard]] tpm_machine machine_of(int n) const;
  void allow(const tpm_machine& m);
  void allow(const tpm_machine& m, const pool_id& where);
  void enroll(std::int64_t places = 1000);

  /// The challenge for it, which must be given.
  wire::challenge_body challenge_of(const tpm_machine& m);
  /// Both legs, the second not sent yet.
  wire::join_request joining(const tpm_machine& m);
  tried join_by_tpm(const tpm_machine& m) { return join(joining(m)); }
  /// Its node; it must go well.
  node_id join_well(const tpm_machine& m);
  using renew_world::join;

  /// Its request's id; it must be deferred.
  join_request_id deferred(const tpm_machine& m);
  [[nodiscard]] events::join_request::state request_state(
      const join_request_id& id) const;
  template <class Command>
  void decide_request(const join_request_id& id, const Command& c) {
    auto state = request_state(id);
    auto decided = events::join_request::decide(state, c);
    REQUIRE(decided.has_value());
    for (const auto& e : decided.value())
      append<events::join_request::event>(events::stream_of(id), e, owner);
  }
  void approve(const join_request_id& id);
  void reject(const join_request_id& id);

  places_shown places;
};

/// The rule for every refused join by a TPM: as for a join, with its attestor.
void check_tpm_refused(tpm_world& w, const tried& t, std::uint64_t head,
                       events::refusal_reason reason, const tenant_id& owner);

}  // namespace bc::test
