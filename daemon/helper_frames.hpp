#pragma once

#include "base/bytes.hpp"
#include "base/errc.hpp"
#include "daemon/tpm/key_keeper.hpp"
#include "pki/hardware_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What `bcd node` and `bcd helper` say to each other: one frame each way on a
/// connection of its own. A frame is its length in four bytes, big endian, and
/// so much of content; the content is a byte of what it is and its parts, each
/// with its length in two bytes.
namespace bc::daemon {

inline constexpr std::size_t max_helper_frame = 8'192;
inline constexpr std::size_t helper_length_size = 4;

enum class helper_operation : std::uint8_t {
  ak_public = 1,
  create_node_key = 2,
  sign = 3,      // a SHA-256 digest, by a node's key
  certify = 4,   // a node's key for a CSR, by the AK
  hardware = 5,  // the machine's claims, in the JSON of a join's message
};

struct helper_request {
  helper_operation what = helper_operation::ak_public;
  tpm::key_blobs key = {};  // of sign and certify
  bytes input = {};         // the digest or the CSR
  bool operator==(const helper_request&) const = default;
};

/// Whole frames, with their length.
[[nodiscard]] bytes encode(const helper_request& request);
/// The content of a frame. nullopt for any other operation, a part too many, a
/// digest of another length, a CSR over 4 KiB, or a key that is not of
/// pki::tpm::node_key_template(): the helper's TPM holds other keys too.
[[nodiscard]] std::optional<helper_request> decode_helper_request(
    byte_view content);

/// What is given, or why not: UNAVAILABLE, INVALID_STATE or INVALID_INPUT.
using helper_reply = std::variant<std::vector<bytes>, fault>;
[[nodiscard]] bytes encode(const helper_reply& reply);
[[nodiscard]] std::optional<helper_reply> decode_helper_reply(
    byte_view content);

/// The claims as the one part of an answer: all of them or a fault.
/// INVALID_STATE for more than a join's message or a frame holds.
[[nodiscard]] result<bytes> encode_hardware(const pki::hardware_claims& claims);
/// UNAVAILABLE for what encode_hardware() did not write.
[[nodiscard]] result<pki::hardware_claims> decode_hardware(byte_view part);

/// The length that a frame's first four bytes say; nullopt over the bound.
[[nodiscard]] std::optional<std::size_t> helper_frame_length(byte_view four);

}  // namespace bc::daemon
