#include "base/encoding.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"

namespace bc::events::node::detail {

namespace {

void put_claims(json::writer& out, const wire::claims& c) {
  out.key("claims").begin_object();
  codec::put_unless_empty(out, "productUuid", c.product_uuid);
  codec::put_unless_empty(out, "productSerial", c.product_serial);
  codec::put_unless_empty(out, "boardSerial", c.board_serial);
  codec::put_unless_empty(out, "chassisSerial", c.chassis_serial);
  out.field("macs", c.macs).field("gpuUuids", c.gpu_uuids);
  codec::put_unless_empty(out, "hostname", c.hostname);
  out.end_object();
}

result<wire::claims> read_claims(const json::reader& from) {
  BC_TRY(uuid, from.optional_text("productUuid"));
  BC_TRY(product, from.optional_text("productSerial"));
  BC_TRY(board, from.optional_text("boardSerial"));
  BC_TRY(chassis, from.optional_text("chassisSerial"));
  BC_TRY(macs, from.texts("macs"));
  BC_TRY(gpus, from.texts("gpuUuids"));
  BC_TRY(hostname, from.optional_text("hostname"));
  return wire::claims{uuid.value_or(""),
                      product.value_or(""),
                      board.value_or(""),
                      chassis.value_or(""),
                      macs,
                      gpus,
                      hostname.value_or("")};
}

constexpr certificate_names names{"certificateSerial", "identityGeneration"};

result<void> read_machine(joined& j, const json::reader& data,
                          const json::reader& internal) {
  BC_TRY(key, data.optional_text("hardwareKey"));
  j.hardware_key = key.value_or("");
  BC_TRY(trusted, data.boolean("hardwareKeyTrusted"));
  j.hardware_key_trusted = trusted;
  BC_TRY(changed, data.boolean_or("hardwareChanged", false));
  j.hardware_changed = changed;
  BC_TRY(kinds, data.texts_or_none("changedIdentifiers"));
  j.changed_identifiers = std::move(kinds);
  BC_TRY(node_key, data.text("nodeKey"));
  j.node_key = std::move(node_key);
  BC_TRY(ek, data.optional_text("ekHash"));
  j.ek_hash = ek.value_or("");
  if (data.has("trust")) {
    BC_TRY(node_trust, codec::one_of(data, "trust", parse_trust));
    j.node_trust = node_trust;
  } else if (j.cert.role == pki::certificate_role::node_tenant) {
    j.node_trust = trust::tenant_controlled;
  }
  BC_TRY(acceptance, data.boolean_or("acceptance", false));
  j.acceptance = acceptance;
  BC_TRY(claims, internal.object("claims"));
  BC_TRY(read, read_claims(claims));
  j.claims = std::move(read);
  return ok();
}

result<void> read_answer(joined& j, const json::reader& internal) {
  BC_TRY(subject, internal.text("answerSubject"));
  j.answer_subject = std::move(subject);
  BC_TRY(body, internal.base64("answerBody"));
  j.answer_body = as_text(body);
  BC_TRY(signature, internal.base64("answerSig"));
  j.answer_signature = std::move(signature);
  BC_TRY(proof, internal.optional_text("proofSha256"));
  j.proof_sha256 = proof.value_or("");
  BC_TRY(left, internal.optional_text("leftHardwareKey"));
  j.left_hardware_key = left.value_or("");
  return ok();
}

}  // namespace

moves effect(const joined& j) {
  moves m;
  if (!j.left_hardware_key.empty())
    m.claims.push_back({claim_move::kind::release,
                        hardware_claim(j.left_hardware_key), std::nullopt});
  if (j.hardware_key_trusted)
    m.claims.push_back(take(hardware_claim(j.hardware_key), std::nullopt));
  if (!j.ek_hash.empty())
    m.claims.push_back(take(ek_claim(j.ek_hash), std::nullopt));
  claim_certificate(m, j.cert, j.answer_subject, j.at);
  if (!j.proof_sha256.empty())
    claim_proof(m, j.proof_sha256, j.at);
  return m;
}

event_write write(const joined& j) {
  auto data = codec::object([&](json::writer& out) {
    out.field("nodeId", j.id.str());
    if (j.pool)
      out.field("poolId", j.pool->str());
    out.field("siteId", j.site.str())
        .field("attestor", j.attestor)
        .field("reclaim", j.reclaim)
        .field("hardwareKeyTrusted", j.hardware_key_trusted);
    codec::put_unless_empty(out, "hardwareKey", j.hardware_key);
    codec::put_unless_empty(out, "ekHash", j.ek_hash);
    out.field("hardwareChanged", j.hardware_changed);
    if (!j.changed_identifiers.empty())
      out.field("changedIdentifiers", j.changed_identifiers);
    out.field("certificateSerial", j.cert.serial)
        .field("nodeKey", j.node_key)
        .field("identityGeneration", j.cert.generation)
        .field("role", pki::role_text(j.cert.role))
        .field("trust", trust_text(j.node_trust))
        .field("acceptance", j.acceptance)
        .field("notAfter", to_rfc3339(j.cert.not_after));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", j.tenant.str())
        .field("tokenId", j.token)
        .field("joinedAtMs", to_millis(j.at));
    put_certificate(out, j.cert);
    put_claims(out, j.claims);
    out.field("answerSubject", j.answer_subject)
        .field("answerBody", to_base64(as_bytes(j.answer_body)))
        .field("answerSig", to_base64(j.answer_signature));
    codec::put_unless_empty(out, "proofSha256", j.proof_sha256);
    codec::put_unless_empty(out, "leftHardwareKey", j.left_hardware_key);
  });
  return {std::string{name::node_joined}, 1, std::move(data),
          std::move(internal), effect(j)};
}

result<event> read_joined(const json::reader& data,
                          const json::reader& internal) {
  joined j;
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  j.id = std::move(id);
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  j.tenant = std::move(tenant);
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  j.site = std::move(site);
  if (data.has("poolId")) {
    BC_TRY(pool, codec::id_of<pool_id>(data, "poolId"));
    j.pool = std::move(pool);
  }
  BC_TRY(attestor, data.text("attestor"));
  j.attestor = std::move(attestor);
  BC_TRY(reclaim, data.boolean("reclaim"));
  j.reclaim = reclaim;
  BC_TRY(token, internal.text("tokenId"));
  j.token = std::move(token);
  BC_TRY(cert, read_certificate(data, internal, names));
  j.cert = std::move(cert);
  BC_TRY(at, codec::millis_of(internal, "joinedAtMs"));
  j.at = at;
  BC_TRYV(read_machine(j, data, internal));
  BC_TRYV(read_answer(j, internal));
  return event{std::move(j)};
}

}  // namespace bc::events::node::detail
