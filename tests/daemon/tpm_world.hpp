#pragma once

#include "pki/tpm/key_attestation.hpp"
#include "tests/daemon/fake_renewals.hpp"
#include "tests/daemon/soft_keeper.hpp"

/// A machine whose certificate names its TPM's AK, and the control plane that
/// renews it only with that AK's word.
namespace bc::testing {

struct tpm_world {
  temporary_folder folder{quick_parent()};
  virtual_world time;
  fake_renewals server{time};
  std::shared_ptr<soft_keeper> tpm = std::make_shared<soft_keeper>();
  std::vector<std::string> warned;
  daemon::machine_keys keys{
      tpm, false, [this](const std::string& line) { warned.push_back(line); }};
  daemon::node_identity me = server.identity();

  /// As issued after a certified join: the key is in the TPM.
  explicit tpm_world(bool names_ak = true) {
    me.key = keys.make_in_tpm().value();
    me.who.certificate_chain.front() =
        certificate(me.key.pub(), names_ak ? std::vector{tpm->statement()}
                                           : std::vector<std::string>{});
  }

  bytes certificate(const pki::public_key& key,
                    std::vector<std::string> statements,
                    pki::certificate_role role = pki::certificate_role::node) {
    pki::node_certificate_request wanted{key,
                                         std::string{fake_gateway::domain},
                                         std::string{fake_gateway::site},
                                         std::string{fake_gateway::node},
                                         role,
                                         std::move(statements),
                                         time.server,
                                         server.lifetime,
                                         {}};
    auto random = pki::random_bytes(wanted.serial_random.size());
    std::copy(random.begin(), random.end(), wanted.serial_random.begin());
    return pki::issue_node_certificate(server.gateway.keys.node_ca, wanted).der;
  }

  /// What the real control plane says about a certificate's statements.
  std::optional<pki::tpm::code> judged(
      const bytes& leaf, const std::optional<wire::key_attestation>& word,
      const bytes& csr) {
    auto uris = pki::parse_certificate(leaf).value().uris;
    uris.erase(uris.begin());  // the SPIFFE id
    return pki::tpm::check_renewal(uris, word, csr);
  }

  daemon::exchange take(std::string_view body,
                        const daemon::node_identity* as) {
    auto asked = wire::decode_renew_request(body).value();
    const auto& leaf = asked.certificate_chain.front();
    if (judged(leaf, asked.attestation, asked.csr))
      server.script.push_back(
          [](auto& s, const auto& r) { return s.refused(r); });
    server.statements = pki::parse_certificate(leaf).value().uris;
    server.statements.erase(server.statements.begin());  // the SPIFFE id
    return server.take(body, as);
  }

  daemon::renewal_attempt renew() {
    return daemon::attempt_renewal(
        server.gateway.config(folder), me,
        [this] { return time.clocks().wall; },
        [this](std::string_view body, const daemon::node_identity* as) {
          return take(body, as);
        },
        keys);
  }
};

}  // namespace bc::testing
