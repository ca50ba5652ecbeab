#include "events/pki_bundle.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::pki_bundle {

state evolve(state s, const event& e) {
  ++s.version;
  if (!s.bundle)
    s.bundle = std::get<initialized>(e);
  return s;
}

event_write encode(const event& e) {
  const auto& i = std::get<initialized>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("trustDomain", i.trust_domain)
        .field("servingCaPin", i.serving_ca_pin)
        .field("joinSigningPin", i.join_signing_pin)
        .field("joinEncryptionPin", i.join_encryption_pin)
        .field("initializedAt", to_rfc3339(i.at));
  });
  auto internal =
      codec::object([&](json::writer& out) { out.field("sealed", i.sealed); });
  return {std::string{name::pki_initialized},
          1,
          std::move(data),
          std::move(internal),
          {}};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::pki_initialized))
    return codec::unknown_event(e);
  return codec::read_event(e,
                           [](const json::reader& data,
                              const json::reader& internal) -> result<event> {
                             BC_TRY(domain, data.text("trustDomain"));
                             BC_TRY(serving, data.text("servingCaPin"));
                             BC_TRY(signing, data.text("joinSigningPin"));
                             BC_TRY(encryption, data.text("joinEncryptionPin"));
                             BC_TRY(at, codec::time_of(data, "initializedAt"));
                             BC_TRY(sealed, internal.text("sealed"));
                             return initialized{domain,     serving, signing,
                                                encryption, at,      sealed};
                           });
}

}  // namespace bc::events::pki_bundle
