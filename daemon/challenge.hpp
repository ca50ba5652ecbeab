#pragma once

#include "base/wire_attest.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/renewal.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// What the attestors have in common that are challenged first (spec:
/// ATTESTATION section 1.1).
namespace bc::daemon {

/// POST of a path, without a client certificate.
using post_to_path =
    std::function<exchange(std::string_view path, std::string_view body)>;

/// An answer whose signed time and chain are good, or how its exchange ended.
struct genuine_answer {
  std::optional<wire::join_answer> answer = {};  // never `failed`
  renewal_attempt::end what = renewal_attempt::end::unreachable;
  std::string why = {};                        // in words, printable
  std::optional<time_point> server_time = {};  // that was signed
  bool sent = false;                           // or partly
  errc code = errc::unavailable;               // of `unavailable`, as it said
};
[[nodiscard]] genuine_answer genuine(const exchange& got,
                                     const expected_answer& expected);

/// The challenge, checked: signed for our CSR and our claims, and not yet over.
struct given_challenge {
  std::optional<wire::challenge_body> body = {};
  genuine_answer otherwise = {};  // and its server time, also with a challenge
};
[[nodiscard]] given_challenge ask_challenge(
    const post_to_path& post, const expected_answer& expected,
    const wire::challenge_request& request);

}  // namespace bc::daemon
