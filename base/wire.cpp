#include "base/wire.hpp"

#include "base/json.hpp"
#include "base/wire_evidence.hpp"
#include "base/wire_fields.hpp"

#include <algorithm>
#include <array>

namespace bc::wire {

namespace {

using detail::base64_list;
using detail::bounded;
using detail::check_protocol;
using detail::csr_of;
using detail::invalid;
using detail::max_text;
using detail::parse_body;
using detail::put_base64;
using detail::put_base64_list;

constexpr std::size_t max_list = 64;
constexpr std::size_t max_pins = 4;
constexpr std::size_t max_seal = 4096;
constexpr std::array<std::string_view, 4> roles = {"node", "site", "ramdisk",
                                                   "node-tenant"};

result<std::vector<std::string>> bounded_list(const json::reader& from,
                                              std::string_view name) {
  BC_TRY(list, from.texts_or_none(name));
  if (list.size() > max_list)
    return invalid("has more than 64 members", from.path_of(name));
  for (const auto& item : list)
    if (item.size() > max_text)
      return invalid("has a member longer than 256 bytes", from.path_of(name));
  return std::move(list);
}

result<claims> decode_claims(const json::reader& from) {
  BC_TRY(uuid, bounded(from, "productUuid"));
  BC_TRY(product, bounded(from, "productSerial"));
  BC_TRY(board, bounded(from, "boardSerial"));
  BC_TRY(chassis, bounded(from, "chassisSerial"));
  BC_TRY(hostname, bounded(from, "hostname"));
  BC_TRY(macs, bounded_list(from, "macs"));
  BC_TRY(gpus, bounded_list(from, "gpuUuids"));
  return claims{uuid, product, board, chassis, macs, gpus, hostname};
}

std::string_view status_text(join_answer::kind what) noexcept {
  switch (what) {
    case join_answer::kind::joined:
      return "joined";
    case join_answer::kind::renewed:
      return "renewed";
    case join_answer::kind::deferred:
      return "deferred";
    case join_answer::kind::challenge:
      return "challenge";
    case join_answer::kind::failed:
      break;
  }
  return {};
}

void put_signed_time(json::writer& out, const join_answer& answer) {
  if (!answer.time)
    return;
  put_base64(out, "signingKey", answer.signing_key);
  out.key("serverTime").begin_object();
  out.field("time", answer.time->time_ms);
  put_base64(out, "sig", answer.time->signature);
  out.end_object();
}

}  // namespace

result<claims> decode_claims(std::string_view object) {
  BC_TRY(doc, json::parse_object(object));
  return decode_claims(json::reader{doc});
}

std::string encode(const claims& c) {
  json::writer out;
  out.begin_object();
  auto put = [&out](std::string_view name, const std::string& v) {
    if (!v.empty())
      out.field(name, v);
  };
  put("productUuid", c.product_uuid);
  put("productSerial", c.product_serial);
  put("boardSerial", c.board_serial);
  put("chassisSerial", c.chassis_serial);
  if (!c.macs.empty())
    out.field("macs", c.macs);
  if (!c.gpu_uuids.empty())
    out.field("gpuUuids", c.gpu_uuids);
  put("hostname", c.hostname);
  out.end_object();
  return out.str();
}

std::string encode(const join_request& request) {
  json::writer out;
  out.begin_object().field("protocol", protocol_version);
  if (!request.attestor.empty())
    out.field("attestor", request.attestor);
  out.field("role", request.role).field("siteId", request.site_id);
  if (!request.node_id.empty())
    out.field("nodeId", request.node_id);
  put_base64(out, "csr", request.csr);
  out.key("claims").raw(encode(request.hardware));
  out.key("evidence").begin_object();
  if (request.sealed_token)
    out.key("join-token")
        .begin_object()
        .field("sealed", *request.sealed_token)
        .end_object();
  if (request.x509pop)
    detail::put_x509pop(out, *request.x509pop);
  if (request.tpm)
    detail::put_tpm(out, *request.tpm);
  if (request.discovery)
    detail::put_discovery(out, *request.discovery);
  out.end_object().end_object();
  return out.str();
}

result<join_request> decode_join_request(std::string_view body) {
  BC_TRY(doc, parse_body(body));
  json::reader from{doc};
  BC_TRYV(check_protocol(from));
  join_request out;
  BC_TRY(attestor, bounded(from, "attestor", 64));
  BC_TRY(role, from.text("role"));
  if (std::find(roles.begin(), roles.end(), role) == roles.end())
    return invalid("is not one of node, site, ramdisk, node-tenant", "/role");
  BC_TRY(site, bounded(from, "siteId"));
  BC_TRY(node, bounded(from, "nodeId", 64));
  BC_TRY(csr, csr_of(from));
  BC_TRY(hardware_object, from.object("claims"));
  BC_TRY(hardware, decode_claims(hardware_object));
  BC_TRY(evidence, from.object("evidence"));
  if (evidence.has("join-token")) {
    BC_TRY(token, evidence.object("join-token"));
    BC_TRY(sealed, token.text("sealed"));
    if (sealed.size() > max_seal)
      return invalid("is longer than 4096 bytes",
                     "/evidence/join-token/sealed");
    out.sealed_token = sealed;
  }
  BC_TRY(x509pop, detail::x509pop_of(evidence));
  BC_TRY(tpm, detail::tpm_of(evidence));
  BC_TRY(discovery, detail::discovery_of(evidence));
  out.x509pop = std::move(x509pop);
  out.tpm = std::move(tpm);
  out.discovery = std::move(discovery);
  out.attestor = attestor;
  out.role = role;
  out.site_id = site;
  out.node_id = node;
  out.csr = csr;
  out.hardware = hardware;
  return out;
}

namespace {

result<std::vector<std::string>> pins_or_none(const json::reader& from,
                                              std::string_view name) {
  BC_TRY(pins, bounded_list(from, name));
  if (pins.size() > max_pins)
    return invalid("has more than 4 members", from.path_of(name));
  return std::move(pins);
}

}  // namespace

std::string encode(const joined_body& body) {
  json::writer out;
  out.begin_object().field("nodeId", body.node_id);
  put_base64_list(out, "certificateChain", body.certificate_chain);
  put_base64_list(out, "commandSigningKeys", body.command_signing_keys);
  put_base64(out, "csrSha256", body.csr_sha256);
  out.field("trustDomain", body.trust_domain)
      .field("siteId", body.site_id)
      .field("role", body.role)
      .field("notAfter", body.not_after_ms);
  if (!body.serving_ca_pins.empty())
    out.field("servingCaPins", body.serving_ca_pins);
  if (!body.join_signing_pins.empty())
    out.field("joinSigningPins", body.join_signing_pins);
  out.end_object();
  return out.str();
}

result<joined_body> decode_joined_body(std::string_view body) {
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  BC_TRY(node, from.text("nodeId"));
  BC_TRY(chain, base64_list(from, "certificateChain"));
  BC_TRY(commands, base64_list(from, "commandSigningKeys"));
  BC_TRY(csr, from.base64("csrSha256"));
  BC_TRY(domain, from.text("trustDomain"));
  BC_TRY(site, from.text("siteId"));
  BC_TRY(role, from.text("role"));
  BC_TRY(not_after, from.integer("notAfter"));
  BC_TRY(serving, pins_or_none(from, "servingCaPins"));
  BC_TRY(signing, pins_or_none(from, "joinSigningPins"));
  return joined_body{node, chain, commands,  csr,     domain,
                     site, role,  not_after, serving, signing};
}

std::string encode(const deferred_body& body) {
  json::writer out;
  out.begin_object()
      .field("requestId", body.request_id)
      .field("retryAfterSeconds", body.retry_after_seconds);
  put_base64(out, "csrSha256", body.csr_sha256);
  out.end_object();
  return out.str();
}

result<deferred_body> decode_deferred_body(std::string_view body) {
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  BC_TRY(request, from.text("requestId"));
  BC_TRY(after, from.integer("retryAfterSeconds"));
  BC_TRY(csr, from.base64("csrSha256"));
  return deferred_body{request, after, csr};
}

int http_status(const join_answer& answer) {
  switch (answer.what) {
    case join_answer::kind::joined:
    case join_answer::kind::renewed:
    case join_answer::kind::challenge:
      return 200;
    case join_answer::kind::deferred:
      return 202;
    case join_answer::kind::failed:
      break;
  }
  return bc::http_status(answer.code);
}

std::string encode(const join_answer& answer) {
  json::writer out;
  out.begin_object().field("protocol", protocol_version);
  if (answer.what == join_answer::kind::failed) {
    out.key("error").begin_object();
    out.field("code", wire_text(answer.code)).field("message", answer.message);
    if (!answer.path.empty())
      out.field("path", answer.path);
    out.end_object();
  } else {
    out.field("status", status_text(answer.what));
    put_base64(out, "body", as_bytes(answer.body));
    put_base64(out, "sig", answer.signature);
  }
  put_signed_time(out, answer);
  out.end_object();
  return out.str();
}

result<join_answer> decode_join_answer(int status, std::string_view body) {
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  join_answer out;
  if (from.has("error")) {
    if (status < 400)
      return invalid("does not go with the HTTP status", "/error");
    BC_TRY(error, from.object("error"));
    BC_TRY(code, error.text("code"));
    BC_TRY(message, error.text("message"));
    BC_TRY(path, error.optional_text("path"));
    out.code = errc_of(code);
    out.message = message;
    out.path = path.value_or("");
  } else {
    BC_TRY(text, from.text("status"));
    if (text == "joined" && status == 200)
      out.what = join_answer::kind::joined;
    else if (text == "renewed" && status == 200)
      out.what = join_answer::kind::renewed;
    else if (text == "deferred" && status == 202)
      out.what = join_answer::kind::deferred;
    else if (text == "challenge" && status == 200)
      out.what = join_answer::kind::challenge;
    else
      return invalid("does not go with the HTTP status", "/status");
    BC_TRY(signed_bytes, from.base64("body"));
    BC_TRY(sig, from.base64("sig"));
    out.body = std::string{as_text(signed_bytes)};
    out.signature = sig;
  }
  if (from.has("serverTime")) {
    BC_TRY(key, from.base64("signingKey"));
    BC_TRY(time, from.object("serverTime"));
    BC_TRY(ms, time.integer("time"));
    BC_TRY(sig, time.base64("sig"));
    out.signing_key = key;
    out.time = server_time{ms, sig};
  }
  return out;
}

}  // namespace bc::wire
