#include "events/refusal.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::refusal {

namespace {

event_write write(const refused& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("attestor", r.attestor).field("reason", r.reason);
    codec::put_unless_empty(out, "role", r.role);
    codec::put_unless_empty(out, "csrSha256", r.csr_sha256);
    codec::put_unless_empty(out, "hardwareKey", r.hardware_key);
    out.field("suppressed", r.suppressed);
  });
  return {std::string{name::join_refused}, 1, std::move(data), "{}", {}};
}

event_write write(const renew_refused& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("attestor", renew_attestor).field("reason", r.reason);
    codec::put_unless_empty(out, "nodeId", r.node);
    codec::put_unless_empty(out, "serial", r.serial);
    codec::put_unless_empty(out, "csrSha256", r.csr_sha256);
    out.field("suppressed", r.suppressed);
  });
  return {std::string{name::renew_refused}, 1, std::move(data), "{}", {}};
}

result<event> read_refused(const json::reader& data, const json::reader&) {
  BC_TRY(attestor, data.text("attestor"));
  BC_TRY(reason, data.text("reason"));
  BC_TRY(role, data.optional_text("role"));
  BC_TRY(csr, data.optional_text("csrSha256"));
  BC_TRY(key, data.optional_text("hardwareKey"));
  BC_TRY(suppressed, data.integer("suppressed"));
  return refused{attestor,          reason,
                 role.value_or(""), csr.value_or(""),
                 key.value_or(""),  static_cast<std::uint64_t>(suppressed)};
}

result<event> read_renew_refused(const json::reader& data,
                                 const json::reader&) {
  BC_TRY(reason, data.text("reason"));
  BC_TRY(node, data.optional_text("nodeId"));
  BC_TRY(serial, data.optional_text("serial"));
  BC_TRY(csr, data.optional_text("csrSha256"));
  BC_TRY(suppressed, data.integer("suppressed"));
  return renew_refused{reason, node.value_or(""), serial.value_or(""),
                       csr.value_or(""),
                       static_cast<std::uint64_t>(suppressed)};
}

}  // namespace

state evolve(state s, const event&) {
  ++s.version;
  return s;
}

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::join_refused, read_refused},
                                  {name::renew_refused, read_renew_refused}});
}

}  // namespace bc::events::refusal
