#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/wire_attest.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The daemon protocol, version 1: HTTP with JSON bodies, bytes as padded
/// base64, unknown fields ignored. The same shapes stand in schema/wire/ with
/// goldens. Daemon and join service both read and write them here.
namespace bc::wire {

inline constexpr int protocol_version = 1;
inline constexpr std::size_t max_body = 64 * 1024;

/// The daemon's hardware claims as they travel; absent texts are empty.
struct claims {
  std::string product_uuid;
  std::string product_serial;
  std::string board_serial;
  std::string chassis_serial;
  std::vector<std::string> macs;
  std::vector<std::string> gpu_uuids;
  std::string hostname;
};

/// One JSON object, without what is empty.
[[nodiscard]] std::string encode(const claims& hardware);
/// INVALID_INPUT with the path, by the bounds of a join request.
[[nodiscard]] result<claims> decode_claims(std::string_view object);

/// POST /v1/join. One evidence object for each attestor; the one named by
/// `attestor` counts (empty: join-token).
struct join_request {
  std::string attestor;
  std::string role;     // the certificate's role
  std::string site_id;  // from the daemon's configuration: a claim
  bytes csr;            // DER
  claims hardware;
  std::optional<std::string> sealed_token;  // evidence["join-token"].sealed
  std::string node_id = {};  // the node it is to be: a claim; empty: none
  std::optional<x509pop_evidence> x509pop = {};      // evidence["x509pop"]
  std::optional<tpm_evidence> tpm = {};              // evidence["tpm"]
  std::optional<discovery_evidence> discovery = {};  // evidence["discovery"]
};

[[nodiscard]] std::string encode(const join_request& request);
/// INVALID_INPUT with the path for a body that is not well formed: an unknown
/// protocol version or role, a missing field, a text over its bound (256
/// bytes; 64 MACs, 64 GPU ids; CSR 4 KiB; seal 4 KiB).
[[nodiscard]] result<join_request> decode_join_request(std::string_view body);

/// The server's time, signed by the join-signing key (purpose `server-time`)
/// over the decimal text of `time_ms` and the SHA-256 of the CSR bytes sent.
struct server_time {
  std::int64_t time_ms = 0;
  bytes signature;  // 64 bytes
};

/// The body whose exact bytes are signed (purpose `join-response`).
struct joined_body {
  std::string node_id;
  std::vector<bytes> certificate_chain;     // DER, leaf first
  std::vector<bytes> command_signing_keys;  // DER SPKI
  bytes csr_sha256;
  std::string trust_domain;
  std::string site_id;
  std::string role;
  std::int64_t not_after_ms = 0;
  /// Every key that is trusted now, the current one first: a daemon takes them
  /// beside the pins it was installed with. At most 4 of each; empty: those of
  /// the installation alone.
  std::vector<std::string> serving_ca_pins = {};
  std::vector<std::string> join_signing_pins = {};
};
[[nodiscard]] std::string encode(const joined_body& body);
[[nodiscard]] result<joined_body> decode_joined_body(std::string_view body);

struct deferred_body {
  std::string request_id;
  std::int64_t retry_after_seconds = 30;
  bytes csr_sha256;
};
[[nodiscard]] std::string encode(const deferred_body& body);
[[nodiscard]] result<deferred_body> decode_deferred_body(std::string_view body);

/// What /v1/join, /v1/renew and /v1/join-challenge answer. `joined`, `renewed`
/// and `challenge` 200, `deferred` 202: `body` and `signature` are set.
/// `failed`: an error code with its HTTP status; every ACCESS_DENIED is the
/// same bytes but for `time`.
struct join_answer {
  enum class kind { joined, renewed, deferred, challenge, failed };
  kind what = kind::failed;
  std::string body;  // the exact signed bytes
  bytes signature;   // 64 bytes
  errc code = errc::access_denied;
  std::string message;
  std::string path;   // INVALID_INPUT: the field, JSON pointer form
  bytes signing_key;  // DER SPKI; empty when `time` is absent
  std::optional<server_time> time;  // absent for a body not well formed
};

[[nodiscard]] int http_status(const join_answer& answer);
[[nodiscard]] std::string encode(const join_answer& answer);
[[nodiscard]] result<join_answer> decode_join_answer(int status,
                                                     std::string_view body);

/// The fixed texts.
inline constexpr std::string_view refused_message = "Join refused";
inline constexpr std::string_view concurrent_message =
    "This machine joined concurrently; retry";

}  // namespace bc::wire
