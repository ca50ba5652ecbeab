#include "base/wire_renew.hpp"

#include "base/json.hpp"
#include "base/wire_evidence.hpp"
#include "base/wire_fields.hpp"

#include <utility>

namespace bc::wire {

namespace {

using detail::invalid;

constexpr std::size_t max_id = 64;
constexpr std::size_t max_chain = 4;
constexpr std::size_t signature_size = 64;

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
  if (request.attestation)
    detail::put_attestation(out, *request.attestation);
  out.end_object();
  return out.str();
}

result<renew_request> decode_renew_request(std::string_view body) {
  BC_TRY(doc, detail::parse_body(body));
  json::reader from{doc};
  BC_TRYV(detail::check_protocol(from));
  BC_TRY(node, from.text("nodeId"));
  if (node.size() > max_id)
    return invalid("is longer than 64 bytes", "/nodeId");
  BC_TRY(csr, detail::csr_of(from));
  BC_TRY(chain, detail::certificates_of(from, "certificateChain", max_chain));
  BC_TRY(time, from.integer("clientTime"));
  BC_TRY(signature, detail::sized(from, "popSig", signature_size));
  BC_TRY(attestation, detail::attestation_of(from));
  return renew_request{node, csr, chain, time, signature, attestation};
}

}  // namespace bc::wire
