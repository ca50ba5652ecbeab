#include "daemon/challenge.hpp"

#include "base/wire.hpp"
#include "daemon/printable.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/chain.hpp"

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;
using answer_kind = wire::join_answer::kind;

genuine_answer ended(genuine_answer so_far, end what, std::string why) {
  so_far.answer.reset();
  so_far.what = what;
  so_far.why = std::move(why);
  return so_far;
}

std::string check_failed(std::string_view which) {
  return "the answer failed the check of its " + std::string{which};
}

genuine_answer judged(const exchange& got, const expected_answer& expected,
                      genuine_answer out) {
  auto answer = wire::decode_join_answer(got.status, got.body);
  if (!answer)
    return ended(std::move(out), end::untrusted,
                 "the gateway's answer is not one of the protocol");
  auto& a = answer.value();
  const bool failed = a.what == answer_kind::failed;
  const bool is_refusal = failed && a.code == errc::access_denied;
  if (!failed || is_refusal || a.time) {
    auto time = check_signed_time(a, expected);
    if (!time)
      return ended(
          std::move(out), end::untrusted,
          check_failed("signature") + "; " + std::string{stale_pins_advice});
    if (!pki::chain_valid_at(got.chain, time.value()))
      return ended(std::move(out), end::untrusted,
                   "the gateway's certificate is not valid at the server's "
                   "time " +
                       to_rfc3339(time.value()));
    out.server_time = time.value();
  }
  if (is_refusal)
    return ended(std::move(out), end::refused,
                 std::string{wire::refused_message});
  out.code = a.code;
  if (failed)
    return ended(std::move(out), end::unavailable,
                 "the server cannot let it join now (" +
                     std::string{wire_text(a.code)} +
                     "): " + printable(a.path + " " + a.message));
  out.answer = std::move(a);
  return out;
}

}  // namespace

genuine_answer genuine(const exchange& got, const expected_answer& expected) {
  genuine_answer out;
  out.sent =
      got.what == exchange::fate::answered || got.what == exchange::fate::lost;
  switch (got.what) {
    case exchange::fate::unreachable:
      return ended(std::move(out), end::unreachable, got.why);
    case exchange::fate::untrusted:
      return ended(std::move(out), end::untrusted,
                   "the gateway's certificate chain failed a check: " +
                       got.why + "; " + std::string{stale_pins_advice});
    case exchange::fate::lost:
      return ended(std::move(out), end::lost, got.why);
    case exchange::fate::answered:
      break;
  }
  return judged(got, expected, std::move(out));
}

given_challenge ask_challenge(const post_to_path& post,
                              const expected_answer& expected,
                              const wire::challenge_request& request) {
  given_challenge out;
  out.otherwise =
      genuine(post("/v1/join-challenge", wire::encode(request)), expected);
  auto& got = out.otherwise;
  if (!got.answer)
    return out;
  auto checked = check_challenge(*got.answer, expected, request);
  if (checked.failed != answer_check::none)
    got = ended(std::move(got), end::untrusted,
                check_failed(answer_check_text(checked.failed)));
  // One that somebody kept back would only be refused.
  else if (from_millis(checked.body.expires_ms) <= *got.server_time)
    got = ended(std::move(got), end::untrusted, check_failed("validity"));
  else
    out.body = std::move(checked.body);
  return out;
}

}  // namespace bc::daemon
