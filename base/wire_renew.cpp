#include "base/wire_renew.hpp"

#include "base/json.hpp"
#include "base/wire_fields.hpp"

#include <utility>

namespace bc::wire {

namespace {

using detail::invalid;

constexpr std::size_t max_id = 64;
constexpr std::size_t max_chain = 4;
constexpr std::size_t max_certificate = 4096;
constexpr std::size_t signature_size = 64;

result<std::vector<bytes>> chain_of(const json::reader& from) {
  // Counted before any of it is decoded.
  BC_TRY(texts, from.texts("certificateChain"));
  if (texts.empty() || texts.size() > max_chain)
    return invalid("must have 1 to 4 members", "/certificateChain");
  BC_TRY(chain, detail::base64_list(from, "certificateChain"));
  for (const auto& certificate : chain)
    if (certificate.empty() || certificate.size() > max_certificate)
      return invalid("has a member that is not of 1 to 4096 bytes",
                     "/certificateChain");
  return std::move(chain);
}

}  // namespace

std::string encode(const renew_request& request) {
  json::writer out;
  out.begin_object()
      .field("protocol", protocol_version)
      .field("nodeId", request.node_id);
  detail::put_base64(out, "csr", request.csr);
  detail::put_base64_list(out, "certificateChain", request.certificate_chain);
  out.field("clientTime", request.client_time_ms);
  detail::put_base64(out, "popSig", request.pop_signature);
  out.end_object();
  return out.str();
}

result<renew_request> decode_renew_request(std::string_view body) {
  if (body.size() > max_body)
    return invalid("the body is larger than 64 KiB", "");
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  BC_TRYV(detail::check_protocol(from));
  BC_TRY(node, from.text("nodeId"));
  if (node.size() > max_id)
    return invalid("is longer than 64 bytes", "/nodeId");
  BC_TRY(csr, detail::csr_of(from));
  BC_TRY(chain, chain_of(from));
  BC_TRY(time, from.integer("clientTime"));
  BC_TRY(signature, from.base64("popSig"));
  if (signature.size() != signature_size)
    return invalid("must be 64 bytes", "/popSig");
  return renew_request{node, csr, chain, time, signature};
}

}  // namespace bc::wire
