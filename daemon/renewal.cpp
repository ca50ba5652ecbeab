#include "daemon/renewal.hpp"

#include "base/wire_renew.hpp"
#include "daemon/printable.hpp"
#include "daemon/renewal_plan.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/chain.hpp"
#include "pki/signature.hpp"

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;

// What is new in the request.
struct new_key {
  node_key key;
  bytes csr;
  std::optional<wire::key_attestation> attestation = {};
};

result<new_key> make_key(const machine_keys& keys, const node_identity& me) {
  const auto ak = named_ak(me.who.certificate_chain.front());
  if (!ak) {
    BC_TRY(key, keys.make());
    BC_TRY(csr, key.csr());
    return new_key{std::move(key), std::move(csr)};
  }
  auto key = keys.make_in_tpm();
  auto csr = key ? key.value().csr() : key.error();
  if (!csr)
    return wrong_tpm(csr.error());
  BC_TRY(attested, attest_key(keys, *ak, key.value(), csr.value()));
  return new_key{std::move(key).value(), std::move(csr).value(),
                 std::move(attested)};
}

class attempt {
 public:
  attempt(const config& c, const node_identity& me,
          const std::function<time_point()>& now, const renew_transport& send,
          new_key made)
      : config_(c),
        me_(me),
        now_(now),
        send_(send),
        new_(std::move(made)),
        expected_(expected_again(c, me.who, new_.csr, new_.key.pub(),
                                 pki::purpose::renew_response)) {}

  renewal_attempt run() {
    auto got = ask(&me_);
    if (got && got->what == exchange::fate::lost && got->certificate_rejected) {
      rejected_ = got->why;
      got = ask(nullptr);
    }
    judge(got);
    if (out_.what == end::refused && clock_is_off()) {
      offset_ = *out_.server_time - now_();
      judge(ask(rejected_.empty() ? &me_ : nullptr));
    }
    return std::move(out_);
  }

 private:
  // nullopt: the current key does not sign.
  std::optional<exchange> ask(const node_identity* as) {
    wire::renew_request body;
    body.node_id = me_.who.node_id;
    body.csr = new_.csr;
    body.certificate_chain = me_.who.certificate_chain;
    claimed_ = now_() + offset_;
    body.client_time_ms = to_millis(claimed_);
    auto time = std::to_string(body.client_time_ms);
    auto proof = me_.key.sign(
        pki::purpose::renew_pop,
        {expected_.csr_sha256, as_bytes(body.node_id), as_bytes(time)});
    if (!proof) {
      no_key_ = "the node's key does not sign: " + proof.error().message;
      return std::nullopt;
    }
    body.pop_signature = {proof.value().begin(), proof.value().end()};
    body.attestation = new_.attestation;
    auto got = send_(wire::encode(body), as);
    if (got.what == exchange::fate::answered ||
        got.what == exchange::fate::lost)
      ++out_.requests;
    return got;
  }

  // Of the request that was refused.
  [[nodiscard]] bool clock_is_off() const {
    if (!out_.server_time)
      return false;
    auto off = *out_.server_time - claimed_;
    return off > tolerated_offset || off < -tolerated_offset;
  }

  void judge(const std::optional<exchange>& asked) {
    if (!asked)
      return ended(end::no_key, no_key_);
    const auto& got = *asked;
    switch (got.what) {
      case exchange::fate::unreachable:
        return ended(end::unreachable, got.why);
      case exchange::fate::untrusted:
        return ended(end::untrusted,
                     "the gateway's certificate chain failed a check: " +
                         got.why + "; " + std::string{stale_pins_advice});
      case exchange::fate::lost:
        return ended(end::lost, rejected_.empty() ? got.why : rejected_);
      case exchange::fate::answered:
        return judge_answer(got);
    }
  }

  void judge_answer(const exchange& got) {
    auto answer = wire::decode_join_answer(got.status, got.body);
    if (!answer)
      return ended(end::untrusted,
                   "the gateway's answer is not one of the protocol");
    const auto& a = answer.value();
    bool is_refusal = a.what == wire::join_answer::kind::failed &&
                      a.code == errc::access_denied;
    bool must_be_signed =
        is_refusal || a.what != wire::join_answer::kind::failed;
    std::optional<time_point> time;
    if (a.time || must_be_signed) {
      auto checked = check_signed_time(a, expected_);
      if (!checked)
        return ended(end::untrusted, check_failed("signature") + "; " +
                                         std::string{stale_pins_advice});
      if (!pki::chain_valid_at(got.chain, checked.value()))
        return ended(end::untrusted,
                     "the gateway's certificate is not valid at the server's "
                     "time " +
                         to_rfc3339(checked.value()));
      time = checked.value();
      out_.server_time = time;
    }
    if (a.what == wire::join_answer::kind::renewed)
      return accept(a, *time);
    if (a.what != wire::join_answer::kind::failed)
      return ended(end::untrusted, "the answer is not to a renewal");
    if (is_refusal)
      return ended(end::refused, rejected_.empty()
                                     ? std::string{wire::renew_refused_message}
                                     : rejected_);
    ended(end::unavailable, "the server cannot renew now (" +
                                std::string{wire_text(a.code)} +
                                "): " + printable(a.path + " " + a.message));
  }

  void accept(const wire::join_answer& answer, time_point server_time) {
    auto checked = check_joined(answer, expected_);
    if (checked.failed != answer_check::none)
      return ended(end::untrusted,
                   check_failed(answer_check_text(checked.failed)));
    // An answer kept back for long is no identity any more.
    if (server_time < checked.not_before || server_time >= checked.not_after)
      return ended(end::untrusted, check_failed("validity"));
    auto who = identity_of(config_, checked.body, checked.not_after);
    who.attestor = me_.who.attestor;
    who.ek_kind = me_.who.ek_kind;
    out_.renewed = node_identity{std::move(who), new_.key.clone()};
    ended(end::renewed, {});
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
  const std::function<time_point()>& now_;
  const renew_transport& send_;
  const new_key new_;
  const expected_answer expected_;
  milliseconds offset_{0};
  time_point claimed_;
  std::string no_key_;
  std::string rejected_;  // why the gateway did not take our certificate
  renewal_attempt out_;
};

}  // namespace

expected_answer expected_again(const config& c, const identity& who,
                               byte_view csr, const pki::public_key& key,
                               pki::purpose purpose) {
  return {join_signing_pins(with_pins_of(c, who)),
          pki::sha256(csr),
          key,
          who.site,
          pki::parse_role(who.role).value_or(pki::certificate_role::node),
          who.node_id,
          purpose,
          who.trust_domain,
          true};
}

renewal_attempt attempt_renewal(const config& c, const node_identity& me,
                                const std::function<time_point()>& now,
                                const renew_transport& send,
                                const machine_keys& keys) {
  auto made = make_key(keys, me);
  if (!made) {
    renewal_attempt out;
    out.what = end::no_key;
    out.why = made.error().message;
    return out;
  }
  return attempt{c, me, now, send, std::move(made).value()}.run();
}

}  // namespace bc::daemon
