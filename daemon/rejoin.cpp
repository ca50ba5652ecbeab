#include "daemon/rejoin.hpp"

#include "base/wire_attest.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/hardware.hpp"
#include "daemon/printable.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/certificate.hpp"
#include "pki/claims_digest.hpp"
#include "pki/signature.hpp"

#include <optional>

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;
using answer_kind = wire::join_answer::kind;

// What one attestor asks a challenge with, and proves the join by.
struct way {
  std::string_view attestor;
  std::function<result<wire::challenge_request>(const wire::join_request&)> ask;
  std::function<result<void>(wire::join_request&, const wire::challenge_body&)>
      prove;
};

const bytes& leaf_of(const node_identity& me) {
  return me.who.certificate_chain.front();
}

// A pending pair whose certificate is on disk already is used up.
result<pending_request> request_for(const identity_store& store,
                                    const node_identity& me,
                                    const machine_keys& keys) {
  const bool in_tpm = named_ak(leaf_of(me)).has_value();
  auto make = [&] { return in_tpm ? keys.make_in_tpm() : keys.make(); };
  BC_TRY(found, store.pending(make, in_tpm));
  if (!(found.key.pub() == me.key.pub()))
    return std::move(found);
  store.forget_pending();
  return store.pending(make, in_tpm);
}

class attempt {
 public:
  attempt(const config& c, const node_identity& me, const post_to_path& post,
          const pending_request& request, const pki::hardware_claims& hardware,
          const way& by)
      : config_(c),
        me_(me),
        post_(post),
        request_(request),
        hardware_(hardware),
        by_(by),
        expected_(expected_again(c, me.who, request.csr, request.key.pub(),
                                 pki::purpose::join_response)) {}

  renewal_attempt run() {
    auto body = claims();
    auto asked = by_.ask(body);
    if (!asked)
      return failed(asked.error());
    auto given = ask_challenge(post_, expected_, asked.value());
    note(given.otherwise);
    if (!given.body)
      return std::move(out_);
    auto proved = by_.prove(body, *given.body);
    if (!proved)
      return failed(proved.error());
    auto answer = genuine(post_("/v1/join", wire::encode(body)), expected_);
    note(answer);
    if (answer.answer)
      accept(*answer.answer);
    return std::move(out_);
  }

 private:
  [[nodiscard]] wire::join_request claims() const {
    wire::join_request body;
    body.attestor = by_.attestor;
    body.role = me_.who.role;
    body.site_id = config_.site;
    body.node_id = me_.who.node_id;
    body.csr = request_.csr;
    body.hardware = to_wire(hardware_);
    return body;
  }

  void note(const genuine_answer& got) {
    out_.requests += got.sent ? 1 : 0;
    if (got.server_time)
      out_.server_time = got.server_time;
    ended(got.what, got.why);
  }

  void accept(const wire::join_answer& answer) {
    if (answer.what == answer_kind::deferred)
      return deferred(answer);
    auto checked = check_joined(answer, expected_);
    if (answer.what != answer_kind::joined)
      return ended(end::untrusted, "the answer is not to a join");
    if (checked.failed != answer_check::none)
      return ended(end::untrusted,
                   check_failed(answer_check_text(checked.failed)));
    // An answer kept back for long is no identity any more.
    if (*out_.server_time < checked.not_before ||
        *out_.server_time >= checked.not_after)
      return ended(end::untrusted, check_failed("validity"));
    auto who = identity_of(config_, checked.body, checked.not_after);
    who.attestor = me_.who.attestor;
    who.ek_kind = me_.who.ek_kind;
    out_.renewed = node_identity{std::move(who), request_.key.clone()};
    out_.by = by_.attestor;
    ended(end::renewed, {});
  }

  void deferred(const wire::join_answer& answer) {
    auto checked = check_deferred(answer, expected_);
    if (checked.failed != answer_check::none)
      return ended(end::untrusted,
                   check_failed(answer_check_text(checked.failed)));
    ended(end::unavailable,
          "a person must approve this machine first: request " +
              printable(checked.body.request_id));
  }

  renewal_attempt failed(const fault& why) {
    ended(end::no_key, why.message);
    return std::move(out_);
  }

  static std::string check_failed(std::string_view which) {
    return "the answer failed the check of its " + std::string{which};
  }

  void ended(end what, std::string why) {
    out_.what = what;
    out_.why = std::move(why);
  }

  const config& config_;
  const node_identity& me_;
  const post_to_path& post_;
  const pending_request& request_;
  const pki::hardware_claims& hardware_;
  const way& by_;
  const expected_answer expected_;
  renewal_attempt out_;
};

renewal_attempt not_now(const fault& why, end what = end::unavailable) {
  renewal_attempt out;
  out.what = what;
  out.why = why.message;
  return out;
}

// The certificate and a proof of its key; of one that names an AK, the AK's
// word on the new key, had before anything is sent.
class by_certificate {
 public:
  by_certificate(const node_identity& me, const pending_request& request,
                 const machine_keys& keys)
      : me_(me), request_(request), keys_(keys) {}

  result<wire::challenge_request> ask(const wire::join_request&) {
    if (const auto ak = named_ak(leaf_of(me_))) {
      BC_TRY(attested, attest_key(keys_, *ak, request_.key, request_.csr));
      attestation_ = std::move(attested);
    }
    return wire::challenge_request{std::string{wire::x509pop_attestor},
                                   to_bytes(pki::sha256(request_.csr)),
                                   leaf_of(me_)};
  }

  result<void> prove(wire::join_request& body,
                     const wire::challenge_body& challenge) const {
    const auto expires = std::to_string(challenge.expires_ms);
    auto proof = me_.key.sign(
        pki::purpose::rejoin_pop,
        {pki::sha256(request_.csr), pki::sha256(leaf_of(me_)), challenge.nonce,
         as_bytes(expires), challenge.payload, pki::claims_digest(body)});
    if (!proof)
      return fail(proof.error().code,
                  "the node's key does not sign: " + proof.error().message);
    body.x509pop =
        wire::x509pop_evidence{me_.who.certificate_chain,
                               challenge.kid,
                               challenge.nonce,
                               challenge.expires_ms,
                               {proof.value().begin(), proof.value().end()},
                               attestation_};
    return ok();
  }

 private:
  const node_identity& me_;
  const pending_request& request_;
  const machine_keys& keys_;
  std::optional<wire::key_attestation> attestation_;
};

}  // namespace

bool may_rejoin(const node_identity& me, time_point server_time) {
  auto leaf = pki::parse_certificate(leaf_of(me));
  return leaf && leaf.value().role != pki::certificate_role::ramdisk &&
         server_time <= leaf.value().not_after + rejoin_window;
}

bool may_rejoin_by_tpm(const node_identity& me) {
  auto leaf = pki::parse_certificate(leaf_of(me));
  return leaf && leaf.value().role == pki::certificate_role::node &&
         named_ak(leaf_of(me));
}

renewal_attempt attempt_rejoin(const config& c, const identity_store& store,
                               const node_identity& me,
                               const rejoin_tools& tools) {
  auto hardware = tools.hardware();
  if (!hardware)
    return not_now(hardware.error());
  auto request = request_for(store, me, tools.keys);
  if (!request && named_ak(leaf_of(me)))
    return not_now(wrong_tpm(request.error()), end::no_key);
  if (!request)
    return not_now(request.error(), request.error().code == errc::unavailable
                                        ? end::no_key
                                        : end::unavailable);
  by_certificate proof{me, request.value(), tools.keys};
  const way by{wire::x509pop_attestor,
               [&proof](const auto& body) { return proof.ask(body); },
               [&proof](auto& body, const auto& given) {
                 return proof.prove(body, given);
               }};
  return attempt{c, me, tools.post, request.value(), hardware.value(), by}
      .run();
}

renewal_attempt attempt_tpm_rejoin(const config& c, const identity_store& store,
                                   const node_identity& me,
                                   const rejoin_tools& tools) {
  auto hardware = tools.hardware();
  if (!hardware)
    return not_now(hardware.error());
  auto request = request_for(store, me, tools.keys);
  if (!request)
    return not_now(wrong_tpm(request.error()), end::no_key);
  tpm_proof proof{tools.tpm, me.who.ek_kind, tools.say};
  const way by{wire::tpm_attestor,
               [&](const auto& body) -> result<wire::challenge_request> {
                 auto asked = proof.challenge_for(body, named_ak(leaf_of(me)));
                 if (!asked)
                   return wrong_tpm(asked.error());
                 return asked;
               },
               [&](auto& body, const auto& given) -> result<void> {
                 auto made = proof.answer(given, request.value().key,
                                          request.value().csr);
                 if (!made)
                   return wrong_tpm(made.error());
                 body.tpm = std::move(made).value();
                 return ok();
               }};
  auto out =
      attempt{c, me, tools.post, request.value(), hardware.value(), by}.run();
  if (out.renewed)
    out.renewed->who.ek_kind = proof.ek_kind();
  // An answer that was lost is given again for a while (CASES 14); after that
  // the CSR is refused for good, and only another one can be let in.
  else if (out.what == end::refused && !store.pending_is_recent())
    store.forget_pending();
  else if (out.what != end::refused && out.requests > 0)
    store.refresh_pending();
  return out;
}

bool way_back::is_open(const node_identity& me, time_point now) const {
  return may_rejoin(me, now) || (tools_.tpm && may_rejoin_by_tpm(me));
}

renewal_attempt way_back::attempt(const node_identity& me, time_point now) {
  const bool by_tpm = tools_.tpm && may_rejoin_by_tpm(me);
  renewal_attempt got;
  got.what = end::refused;
  if (may_rejoin(me, now) && !certificate_refused_)
    got = attempt_rejoin(config_, store_, me, tools_);
  if (got.what != end::refused || !by_tpm) {
    certificate_refused_ = false;
    return got;
  }
  auto second = attempt_tpm_rejoin(config_, store_, me, tools_);
  // Where both are refused, both are asked next time.
  certificate_refused_ = second.what == end::unavailable;
  second.requests += got.requests;
  if (!second.server_time)
    second.server_time = got.server_time;
  return second;
}

}  // namespace bc::daemon
