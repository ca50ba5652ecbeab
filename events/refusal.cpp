#include "events/refusal.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::refusal {

state evolve(state s, const event&) {
  ++s.version;
  return s;
}

event_write encode(const event& e) {
  const auto& r = std::get<refused>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("attestor", r.attestor).field("reason", r.reason);
    codec::put_unless_empty(out, "role", r.role);
    codec::put_unless_empty(out, "csrSha256", r.csr_sha256);
    codec::put_unless_empty(out, "hardwareKey", r.hardware_key);
    out.field("suppressed", r.suppressed);
  });
  return {std::string{name::join_refused}, 1, std::move(data), "{}", {}};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::join_refused))
    return codec::unknown_event(e);
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(attestor, data.text("attestor"));
        BC_TRY(reason, data.text("reason"));
        BC_TRY(role, data.optional_text("role"));
        BC_TRY(csr, data.optional_text("csrSha256"));
        BC_TRY(key, data.optional_text("hardwareKey"));
        BC_TRY(suppressed, data.integer("suppressed"));
        return refused{
            attestor,          reason,
            role.value_or(""), csr.value_or(""),
            key.value_or(""),  static_cast<std::uint64_t>(suppressed)};
      });
}

}  // namespace bc::events::refusal
