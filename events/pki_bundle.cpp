#include "events/pki_bundle.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

#include <array>

namespace bc::events::pki_bundle {

namespace {

constexpr std::array steps{step::prepared, step::activated, step::retired};

void put_pins(json::writer& out, const pins& p) {
  out.field("servingCaPin", p.serving_ca)
      .field("joinSigningPin", p.join_signing)
      .field("joinEncryptionPin", p.join_encryption);
}

result<pins> pins_in(const json::reader& data) {
  BC_TRY(serving, data.text("servingCaPin"));
  BC_TRY(signing, data.text("joinSigningPin"));
  BC_TRY(encryption, data.text("joinEncryptionPin"));
  return pins{serving, signing, encryption};
}

event_write written(std::string_view type, std::string data,
                    const std::string& sealed) {
  auto internal =
      codec::object([&](json::writer& out) { out.field("sealed", sealed); });
  return {std::string{type}, 1, std::move(data), std::move(internal), {}};
}

event_write write(const initialized& i) {
  return written(name::pki_initialized, codec::object([&](json::writer& out) {
                   out.field("trustDomain", i.trust_domain);
                   put_pins(out, i.current);
                   out.field("initializedAt", to_rfc3339(i.at));
                 }),
                 i.sealed);
}

event_write write(const rotated& r) {
  return written(name::pki_rotated, codec::object([&](json::writer& out) {
                   out.field("step", step_text(r.what)).field("keys", r.keys);
                   put_pins(out, r.current);
                   out.field("rotatedAt", to_rfc3339(r.at));
                 }),
                 r.sealed);
}

result<event> read_initialized(const json::reader& data,
                               const json::reader& internal) {
  BC_TRY(domain, data.text("trustDomain"));
  BC_TRY(current, pins_in(data));
  BC_TRY(at, codec::time_of(data, "initializedAt"));
  BC_TRY(sealed, internal.text("sealed"));
  return initialized{domain, current, at, sealed};
}

result<event> read_rotated(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(what, codec::one_of(data, "step", parse_step));
  BC_TRY(keys, data.texts("keys"));
  BC_TRY(current, pins_in(data));
  BC_TRY(at, codec::time_of(data, "rotatedAt"));
  BC_TRY(sealed, internal.text("sealed"));
  return rotated{what, keys, current, at, sealed};
}

}  // namespace

std::string_view step_text(step s) noexcept {
  switch (s) {
    case step::prepared:
      return "prepared";
    case step::activated:
      return "activated";
    case step::retired:
      return "retired";
  }
  return {};
}

std::optional<step> parse_step(std::string_view text) noexcept {
  for (auto s : steps)
    if (text == step_text(s))
      return s;
  return std::nullopt;
}

state evolve(state s, const event& e) {
  ++s.version;
  if (const auto* first = std::get_if<initialized>(&e)) {
    if (!s.bundle)
      s.bundle = *first;
  } else if (s.bundle) {
    const auto& r = std::get<rotated>(e);
    s.bundle->current = r.current;
    s.bundle->sealed = r.sealed;
  }
  return s;
}

event_write encode(const event& e) {
  return std::visit([](const auto& one) { return write(one); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::pki_initialized, read_initialized},
                                  {name::pki_rotated, read_rotated}});
}

}  // namespace bc::events::pki_bundle
