#include "base/encoding.hpp"
#include "base/json.hpp"
#include "base/wire.hpp"
#include "gateway/routes.hpp"
#include "gateway/url.hpp"
#include "pki/jwe.hpp"

namespace bc::gateway {

namespace {

// More than one only while the key rotates: the current one first.
void put_pins(json::writer& out, std::string_view name,
              const pki::key_bundle& keys, pki::key_name which) {
  auto trusted = pki::public_keys_of(keys, which);
  if (trusted.size() < 2)
    return;
  std::vector<std::string> pins;
  for (const auto& key : trusted)
    pins.push_back(key.pin());
  out.field(name, pins);
}

void put_join(json::writer& out, const pki::key_bundle& keys) {
  auto pins = pki::pins_of(keys);
  out.key("join").begin_object();
  out.key("encryptionJwk").raw(pki::to_jwk(keys.join_encryption.pub()));
  out.field("encryptionKeyPin", pins.join_encryption)
      .field("signingCertificate", to_base64(keys.join_signing.certificate))
      .field("signingKeyPin", pins.join_signing);
  put_pins(out, "encryptionKeyPins", keys, pki::key_name::join_encryption);
  put_pins(out, "signingKeyPins", keys, pki::key_name::join_signing);
  out.end_object();
}

void put_gateway(json::writer& out, const well_known& w) {
  out.key("gateway").begin_object().field("url", *w.gateway_url);
  if (!w.gateway_server_name.empty())
    out.field("serverName", w.gateway_server_name);
  else if (auto url = parse_url(*w.gateway_url))
    out.field("serverName", url.value().host);
  if (w.keys) {
    out.field("servingCaPin", pki::pins_of(*w.keys).serving_ca);
    put_pins(out, "servingCaPins", *w.keys, pki::key_name::serving_ca);
  }
  out.end_object();
}

}  // namespace

// spec: joining#the-join-key-and-its-fallback
std::string well_known_document(const well_known& w) {
  json::writer out;
  out.begin_object();
  out.field("name", "better-compute")
      .field("version", w.version)
      .field("basePath", base_path);
  out.key("protocol")
      .begin_object()
      .field("min", wire::protocol_version)
      .field("max", wire::protocol_version)
      .end_object();
  if (w.keys)
    put_join(out, *w.keys);
  if (w.gateway_url)
    put_gateway(out, w);
  out.end_object();
  return out.str();
}

}  // namespace bc::gateway
