#include "actors/joining/issuing.hpp"

#include "base/encoding.hpp"
#include "base/wire.hpp"

#include <algorithm>
#include <array>

namespace bc::actors {

namespace {

std::array<std::uint8_t, 16> serial_random() {
  auto random = pki::random_bytes(16);
  std::array<std::uint8_t, 16> out{};
  std::copy(random.begin(), random.end(), out.begin());
  return out;
}

std::vector<std::string> pins(const pki::key_bundle& keys,
                              pki::key_name which) {
  std::vector<std::string> out;
  for (const auto& key : pki::public_keys_of(keys, which))
    out.push_back(key.pin());
  return out;
}

wire::joined_body body_of(const pki::key_bundle& keys,
                          const certificate_order& order,
                          const pki::issued_certificate& certificate) {
  wire::joined_body out;
  out.node_id = order.node.str();
  out.certificate_chain = {certificate.der, keys.node_ca.certificate};
  for (const auto& key :
       pki::public_keys_of(keys, pki::key_name::command_signing))
    out.command_signing_keys.push_back(key.spki());
  out.serving_ca_pins = pins(keys, pki::key_name::serving_ca);
  out.join_signing_pins = pins(keys, pki::key_name::join_signing);
  out.csr_sha256 = to_bytes(order.csr_sha256);
  out.trust_domain = keys.trust_domain;
  out.site_id = order.site.str();
  out.role = pki::role_text(order.role);
  out.not_after_ms = to_millis(certificate.not_after);
  return out;
}

events::node::certificate record_of(
    const certificate_order& order,
    const pki::issued_certificate& certificate) {
  events::node::certificate out;
  out.serial = certificate.serial;
  out.spki_sha256 = to_hex(order.key.spki_sha256());
  out.role = order.role;
  out.not_before = certificate.not_before;
  out.not_after = certificate.not_after;
  out.statements = order.statements;
  out.der = certificate.der;
  out.csr_sha256 = to_hex(order.csr_sha256);
  return out;
}

}  // namespace

issued_answer issue(const pki::key_bundle& keys, const certificate_order& order,
                    pki::purpose purpose, time_point now) {
  const auto certificate = pki::issue_node_certificate(
      keys.node_ca,
      {order.key, keys.trust_domain, order.site.str(), order.node.str(),
       order.role, order.statements, now, order.lifetime, serial_random()});
  return {record_of(order, certificate),
          sign_answer_body(
              keys, wire::encode(body_of(keys, order, certificate)), purpose)};
}

bool is_own_key(const pki::key_bundle& keys, const pki::public_key& key) {
  auto is_one = [&](pki::key_name which) {
    auto other = keys.others.find(which);
    return pki::key_of(keys, which).pub() == key ||
           (other != keys.others.end() && other->second.key.pub() == key);
  };
  return std::ranges::any_of(pki::every_key, is_one);
}

}  // namespace bc::actors
