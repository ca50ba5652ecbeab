#include "daemon/helper_frames.hpp"

#include "base/wire.hpp"
#include "daemon/hardware.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/structures.hpp"
#include "pki/tpm/templates.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

using pki::tpm::cursor;
using pki::tpm::put_number;
using pki::tpm::put_sized;
using op = helper_operation;

constexpr std::size_t digest_size = 32;
constexpr std::size_t most_csr = 4'096;
constexpr std::size_t most_parts = 2;
constexpr std::size_t longest_message = 512;
constexpr std::uint8_t given = 0;
// Of a frame are its kind and the part's length besides.
constexpr std::size_t most_hardware = max_helper_frame - 3;

constexpr errc codes[] = {errc::unavailable, errc::invalid_state,
                          errc::invalid_input};

bytes framed(const bytes& content) {
  bytes out;
  put_number(out, content.size(), helper_length_size);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

bool is_node_key(const tpm::key_blobs& key) {
  auto area = pki::tpm::parse_public(key.public_area);
  auto wanted = pki::tpm::node_key_template();
  auto* ecc = std::get_if<pki::tpm::ecc_parameters>(&wanted.parameters);
  if (!area || area->ecc() == nullptr || ecc == nullptr)
    return false;
  // The point is the key's own.
  ecc->x = area->ecc()->x;
  ecc->y = area->ecc()->y;
  return *area == wanted;
}

}  // namespace

bytes encode(const helper_request& request) {
  bytes out{static_cast<std::uint8_t>(request.what)};
  if (request.what == op::sign || request.what == op::certify) {
    put_sized(out, request.key.private_area);
    put_sized(out, request.key.public_area);
    put_sized(out, request.input);
  }
  return framed(out);
}

std::optional<helper_request> decode_helper_request(byte_view content) {
  if (content.empty())
    return std::nullopt;
  helper_request out;
  out.what = static_cast<op>(content.front());
  cursor in{content.subspan(1)};
  switch (out.what) {
    case op::ak_public:
    case op::create_node_key:
    case op::hardware:
      break;
    case op::sign:
    case op::certify:
      out.key.private_area = in.sized();
      out.key.public_area = in.sized();
      out.input = in.sized();
      if (!is_node_key(out.key) || out.key.private_area.empty() ||
          out.input.empty())
        return std::nullopt;
      if (out.what == op::sign ? out.input.size() != digest_size
                               : out.input.size() > most_csr)
        return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  if (!in.done())
    return std::nullopt;
  return out;
}

bytes encode(const helper_reply& reply) {
  bytes out;
  if (const auto* parts = std::get_if<std::vector<bytes>>(&reply)) {
    out.push_back(given);
    for (const auto& part : *parts)
      put_sized(out, part);
    return framed(out);
  }
  const auto& why = std::get<fault>(reply);
  const auto* code = std::find(std::begin(codes), std::end(codes), why.code);
  const auto which = code == std::end(codes) ? 0 : code - std::begin(codes);
  out.push_back(static_cast<std::uint8_t>(1 + which));
  put_sized(out, as_bytes(why.message)
                     .first(std::min(why.message.size(), longest_message)));
  return framed(out);
}

std::optional<helper_reply> decode_helper_reply(byte_view content) {
  if (content.empty() || content.front() > std::size(codes))
    return std::nullopt;
  cursor in{content.subspan(1)};
  if (content.front() != given) {
    auto text = in.sized();
    if (!in.done() || text.size() > longest_message)
      return std::nullopt;
    return helper_reply{
        fail(codes[content.front() - 1], std::string{as_text(text)})};
  }
  std::vector<bytes> parts;
  // What does not fit reads as empty parts, and so becomes too many.
  while (!in.done()) {
    parts.push_back(in.sized());
    if (parts.size() > most_parts)
      return std::nullopt;
  }
  return helper_reply{std::move(parts)};
}

result<bytes> encode_hardware(const pki::hardware_claims& claims) {
  const auto text = wire::encode(to_wire(claims));
  if (text.size() > most_hardware || !wire::decode_claims(text))
    return fail(errc::invalid_state,
                "the hardware identifiers are longer than a message holds");
  return to_bytes(as_bytes(text));
}

result<pki::hardware_claims> decode_hardware(byte_view part) {
  auto claims = wire::decode_claims(as_text(part));
  if (!claims)
    return fail(errc::unavailable,
                "bcd helper answers what are no hardware identifiers: " +
                    claims.error().message);
  return from_wire(claims.value());
}

std::optional<std::size_t> helper_frame_length(byte_view four) {
  cursor in{four};
  const std::size_t length = in.u32();
  if (!in.done() || length == 0 || length > max_helper_frame)
    return std::nullopt;
  return length;
}

}  // namespace bc::daemon
