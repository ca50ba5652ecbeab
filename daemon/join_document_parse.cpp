#include "base/json.hpp"
#include "daemon/join_document.hpp"
#include "pki/certificate.hpp"
#include "pki/jwe.hpp"

namespace bc::daemon {

namespace {

fault contradicts(const char* path, const char* what) {
  return fail(errc::invalid_input, what, path);
}

result<join_document> read_join(const json::reader& join) {
  BC_TRY(jwk, join.object("encryptionJwk"));
  auto text = json::to_text(jwk.raw());
  BC_TRY(key, pki::from_jwk(text));
  BC_TRY(pin, join.text("encryptionKeyPin"));
  if (key.pin() != pin)
    return contradicts("/join/encryptionKeyPin", "is not the key's pin");
  BC_TRY(certificate, join.base64("signingCertificate"));
  BC_TRY(signing, pki::parse_certificate(certificate));
  BC_TRY(signing_pin, join.text("signingKeyPin"));
  if (signing.key.pin() != signing_pin)
    return contradicts("/join/signingKeyPin", "is not the certificate's pin");
  return join_document{key, text, signing_pin, {}, {}};
}

}  // namespace

result<join_document> parse_join_document(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  if (!from.has("join"))
    return fail(errc::invalid_config,
                "the control plane has no join keys (no join section)");
  BC_TRY(join, from.object("join"));
  BC_TRY(out, read_join(join));
  if (from.has("gateway")) {
    BC_TRY(gateway, from.object("gateway"));
    BC_TRY(url, gateway.text("url"));
    BC_TRY(pin, gateway.optional_text("servingCaPin"));
    out.gateway_url = url;
    out.serving_ca_pin = pin.value_or("");
  }
  return std::move(out);
}

}  // namespace bc::daemon
