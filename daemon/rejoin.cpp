#include "daemon/rejoin.hpp"

#include "base/wire_attest.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/hardware.hpp"
#include "daemon/printable.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/certificate.hpp"
#include "pki/chain.hpp"
#include "pki/claims_digest.hpp"
#include "pki/signature.hpp"

#include <algorithm>
#include <optional>

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;

constexpr std::string_view attested_by = "urn:bc:tpm-ak:";

// A pending pair whose certificate is on disk already is used up.
result<pending_request> request_for(const identity_store& store,
                                    const node_identity& me) {
  BC_TRY(found, store.pending());
  if (!(found.key.pub() == me.key.pub()))
    return std::move(found);
  store.forget_pending();
  return store.pending();
}

class attempt {
 public:
  attempt(const config& c, const node_identity& me, const rejoin_tools& tools,
          const pending_request& request, const pki::hardware_claims& hardware)
      : config_(c),
        me_(me),
        tools_(tools),
        request_(request),
        hardware_(hardware),
        expected_{
            join_signing_pins(with_pins_of(c, me.who)),
            pki::sha256(request.csr),
            request.key.pub(),
            me.who.site,
            pki::parse_role(me.who.role).value_or(pki::certificate_role::node),
            me.who.node_id,
            pki::purpose::join_response,
            me.who.trust_domain,
            true} {}

  renewal_attempt run() {
    auto challenge = ask_challenge();
    if (challenge)
      ask_join(*challenge);
    return std::move(out_);
  }

 private:
  std::optional<wire::challenge_body> ask_challenge() {
    auto given =
        ask("/v1/join-challenge", wire::encode(wire::challenge_request{
                                      std::string{wire::x509pop_attestor},
                                      to_bytes(expected_.csr_sha256), leaf()}));
    if (!given)
      return std::nullopt;
    auto checked = check_challenge(*given, expected_);
    if (checked.failed != answer_check::none) {
      ended(end::untrusted, check_failed(answer_check_text(checked.failed)));
      return std::nullopt;
    }
    // One that somebody kept back would only be refused.
    if (from_millis(checked.body.expires_ms) <= *out_.server_time) {
      ended(end::untrusted, check_failed("validity"));
      return std::nullopt;
    }
    return std::move(checked.body);
  }

  void ask_join(const wire::challenge_body& challenge) {
    auto answer = ask("/v1/join", wire::encode(join_request(challenge)));
    if (!answer)
      return;
    auto checked = check_joined(*answer, expected_);
    if (answer->what != wire::join_answer::kind::joined)
      return ended(end::untrusted, "the answer is not to a join");
    if (checked.failed != answer_check::none)
      return ended(end::untrusted,
                   check_failed(answer_check_text(checked.failed)));
    // An answer kept back for long is no identity any more.
    if (*out_.server_time < checked.not_before ||
        *out_.server_time >= checked.not_after)
      return ended(end::untrusted, check_failed("validity"));
    const auto& b = checked.body;
    out_.renewed = node_identity{
        {b.node_id, b.site_id, b.trust_domain, b.role, config_.gateway_url,
         b.certificate_chain, b.command_signing_keys, checked.not_after,
         b.serving_ca_pins, b.join_signing_pins, config_.serving_ca_spki_pin,
         config_.join_signing_key_pin},
        request_.key.clone()};
    ended(end::renewed, {});
  }

  wire::join_request join_request(const wire::challenge_body& challenge) {
    wire::join_request body;
    body.attestor = wire::x509pop_attestor;
    body.role = me_.who.role;
    body.site_id = config_.site;
    body.node_id = me_.who.node_id;
    body.csr = request_.csr;
    body.hardware = to_wire(hardware_);
    const auto expires = std::to_string(challenge.expires_ms);
    const auto proof = pki::sign(
        me_.key, pki::purpose::rejoin_pop,
        {expected_.csr_sha256, pki::sha256(leaf()), challenge.nonce,
         as_bytes(expires), challenge.payload, pki::claims_digest(body)});
    body.x509pop = wire::x509pop_evidence{me_.who.certificate_chain,
                                          challenge.kid,
                                          challenge.nonce,
                                          challenge.expires_ms,
                                          {proof.begin(), proof.end()}};
    return body;
  }

  // A signed answer whose time is good, or how this attempt ended.
  std::optional<wire::join_answer> ask(std::string_view path,
                                       const std::string& body) {
    auto got = tools_.post(path, body);
    if (got.what == exchange::fate::answered ||
        got.what == exchange::fate::lost)
      ++out_.requests;
    switch (got.what) {
      case exchange::fate::unreachable:
        ended(end::unreachable, got.why);
        return std::nullopt;
      case exchange::fate::untrusted:
        ended(end::untrusted,
              "the gateway's certificate chain failed a check: " + got.why +
                  "; " + std::string{stale_pins_advice});
        return std::nullopt;
      case exchange::fate::lost:
        ended(end::lost, got.why);
        return std::nullopt;
      case exchange::fate::answered:
        break;
    }
    return judged(got);
  }

  std::optional<wire::join_answer> judged(const exchange& got) {
    auto answer = wire::decode_join_answer(got.status, got.body);
    if (!answer) {
      ended(end::untrusted, "the gateway's answer is not one of the protocol");
      return std::nullopt;
    }
    auto& a = answer.value();
    const bool failed = a.what == wire::join_answer::kind::failed;
    const bool is_refusal = failed && a.code == errc::access_denied;
    if (!failed || is_refusal || a.time) {
      auto time = check_signed_time(a, expected_);
      if (!time) {
        ended(end::untrusted, check_failed("signature") + "; " +
                                  std::string{stale_pins_advice});
        return std::nullopt;
      }
      if (!pki::chain_valid_at(got.chain, time.value())) {
        ended(end::untrusted,
              "the gateway's certificate is not valid at the server's time " +
                  to_rfc3339(time.value()));
        return std::nullopt;
      }
      out_.server_time = time.value();
    }
    if (!failed)
      return std::move(a);
    if (is_refusal)
      ended(end::refused, std::string{wire::refused_message});
    else
      ended(end::unavailable, "the server cannot let it join now (" +
                                  std::string{wire_text(a.code)} +
                                  "): " + printable(a.path + " " + a.message));
    return std::nullopt;
  }

  [[nodiscard]] const bytes& leaf() const {
    return me_.who.certificate_chain.front();
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
  const rejoin_tools& tools_;
  const pending_request& request_;
  const pki::hardware_claims& hardware_;
  const expected_answer expected_;
  renewal_attempt out_;
};

renewal_attempt not_now(std::string why) {
  renewal_attempt out;
  out.what = end::unavailable;
  out.why = std::move(why);
  return out;
}

}  // namespace

bool may_rejoin(const node_identity& me, time_point server_time) {
  auto leaf = pki::parse_certificate(me.who.certificate_chain.front());
  return leaf && leaf.value().role != pki::certificate_role::ramdisk &&
         server_time <= leaf.value().not_after + rejoin_window &&
         std::ranges::none_of(leaf.value().uris, [](const auto& uri) {
           return uri.starts_with(attested_by);
         });
}

renewal_attempt attempt_rejoin(const config& c, const identity_store& store,
                               const node_identity& me,
                               const rejoin_tools& tools) {
  auto hardware = tools.hardware();
  if (!hardware)
    return not_now(hardware.error().message);
  auto request = request_for(store, me);
  if (!request)
    return not_now(request.error().message);
  return attempt{c, me, tools, request.value(), hardware.value()}.run();
}

}  // namespace bc::daemon
