#include "actors/discovery/discovery_attesting.hpp"

#include "actors/batches.hpp"
#include "actors/discovery/discovery_run.hpp"
#include "events/streams.hpp"
#include "pki/claims_digest.hpp"

#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

namespace {

namespace vouch = pki::vouch;
namespace vouching = events::vouching;

constexpr int max_tries = 3;

}  // namespace

std::optional<refusal_reason> discovery_run::open(time_point now) {
  if (facts_->role != pki::certificate_role::ramdisk)
    return refusal_reason::discovery_role;
  const auto& evidence = facts_->request.discovery;
  auto read = vouch::read(evidence ? evidence->vouch : std::string{});
  if (const auto* why = std::get_if<vouch::code>(&read))
    return *why == vouch::code::missing
               ? refusal_reason::discovery_vouch_missing
               : refusal_reason::discovery_vouch_malformed;
  vouch_ = std::move(std::get<vouch::vouch>(read));
  claims_sha256_ = pki::claims_digest(facts_->request);
  if (!vouch::is_live(says(), now))
    return refusal_reason::discovery_vouch_expired;
  return std::nullopt;
}

void discovery_run::prove(time_point now,
                          reply_to<std::optional<refusal_reason>> done) {
  owner_.reset();
  signer_.reset();
  prove_done_ = std::move(done);
  prove_tries_ = 0;
  read_ground(now);
}

void discovery_run::read_ground(time_point now) {
  read_vouch_ground(
      facts_->streams, says().site,
      [self = shared_from_this(), now](result<vouch_ground> ground) {
        if (!ground)
          return self->proved(std::move(ground).error());
        self->ground_ = std::move(ground).value();
        self->judge_proof(now);
      });
}

void discovery_run::judge_proof(time_point now) {
  signer_ = vouching::find_signer(*vouch_, ground_.states(), now);
  if (!signer_)
    return confirm_unsigned();
  auto refused = vouching::check_proof(*vouch_, *signer_, machine());
  if (!refused)
    owner_ = ground_.site->site->owner;
  proved(std::move(refused));
}

// Another process may have issued the agent's certificate, or given it the
// lease, a moment ago. A stream without events was read just now: where no
// agent ever had the lease, anybody's vouch costs the journal nothing.
void discovery_run::confirm_unsigned() {
  if (ground_.lease->version == 0)
    return proved(std::optional{refusal_reason::discovery_vouch_signer});
  auto b = machine_batch(facts_->correlation, facts_->streams->now());
  b.writes = pins_of(says().site, ground_);
  facts_->streams->append(
      std::move(b), [self = shared_from_this()](
                        const result<events::append_outcome>& outcome) {
        if (!outcome)
          return self->proved(outcome.error());
        const auto* moved = std::get_if<events::rejected>(&outcome.value());
        if (moved == nullptr)
          return self->proved(
              std::optional{refusal_reason::discovery_vouch_signer});
        if (++self->prove_tries_ == max_tries)
          return self->proved(
              fail(errc::unavailable, "What this rests on keeps changing"));
        self->read_ground(moved->time);
      });
}

void discovery_run::proved(result<std::optional<refusal_reason>> how) {
  auto done = std::exchange(prove_done_, nullptr);
  done(std::move(how));
}

std::optional<refusal_reason> discovery_run::claim_refusal(
    std::string_view claim) const {
  return claim == events::node::proof_claim(vouching::proof_of(*vouch_))
             ? std::optional{refusal_reason::discovery_vouch_replayed}
             : std::nullopt;
}

std::string discovery_run::subject() const {
  namespace request = events::join_request;
  return facts_->hardware.names_a_machine()
             ? request::hardware_subject(facts_->hardware.hex)
             : request::mac_subject(says().site, says().mac);
}

std::shared_ptr<attesting> make_discovery_attesting(
    std::shared_ptr<const join_facts> facts) {
  return std::make_shared<discovery_run>(std::move(facts));
}

}  // namespace bc::actors
