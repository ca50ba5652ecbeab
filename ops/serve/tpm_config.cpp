#include "ops/serve/tpm_config.hpp"

#include "base/encoding.hpp"
#include "ops/cli/files.hpp"
#include "pki/certificate.hpp"
#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/name_text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bc::serve {

namespace {

const std::string section = "attestors.tpm.";
constexpr std::size_t hash_size = 64;
constexpr std::int64_t most_places = 100'000;
constexpr std::int64_t longest_wait = 30 * 86'400;
constexpr std::int64_t shortest_lifetime = 600;

bool is_ek_hash(const std::string& text) {
  return text.size() == hash_size && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// `openssl x509 -issuer -nameopt RFC2253` prints an issuer behind this.
std::string unlabelled(const std::string& denied) {
  constexpr std::string_view label = "issuer=";
  return denied.starts_with(label) ? denied.substr(label.size()) : denied;
}

// A machine need not send its EK certificate, so by its issuer it is kept out
// only where it must.
void find_problem_of_denied(std::vector<std::string>& to,
                            const std::string& one, const tpm_settings& s) {
  if (is_ek_hash(one))
    return;
  const auto what = section + "deny: '" + one + "' ";
  if (!pki::tpm::is_name_text(unlabelled(one)))
    to.push_back(what +
                 "is neither an EK's hash nor an issuer's name as openssl "
                 "x509 -issuer -nameopt RFC2253 prints it");
  else if (!s.require_ek_cert)
    to.push_back(what +
                 "is an issuer, which keeps nobody out who does not send the "
                 "certificate: set require_ek_cert = true, or deny the EKs by "
                 "their hashes");
}

option switched(const char* name, bool& into, std::string help) {
  return {section + name, &into, std::move(help) + ": true or false"};
}

// Bounds in seconds.
option lasting(const char* name, seconds& into, std::int64_t least,
               std::int64_t most, std::string help) {
  return {section + name, &into, std::move(help), least, most};
}

result<std::vector<bytes>> certificates_in(
    const std::vector<std::string>& files) {
  std::vector<bytes> out;
  for (const auto& file : files) {
    BC_TRY(text, cli::read_file(file));
    auto found = pki::certificates_from_pem(text);
    const bool good = found && !found.value().empty() &&
                      std::ranges::all_of(found.value(), [](const bytes& der) {
                        return pki::tpm::ek_certificate::read(der).has_value();
                      });
    if (!good)
      return fail(errc::invalid_config,
                  file + " holds no PEM certificates of an EK's issuers");
    out.insert(out.end(), found.value().begin(), found.value().end());
  }
  return out;
}

}  // namespace

void add_options(std::vector<option>& to, tpm_settings& s) {
  to.push_back(
      switched("enabled", s.enabled, "Whether machines may join by their TPM"));
  to.push_back({section + "ek_roots", &s.ek_roots,
                "PEM files of the roots that EK certificates lead to"});
  to.push_back({section + "ek_intermediates", &s.ek_intermediates,
                "PEM files of CAs between them"});
  to.push_back({section + "allow", &s.allow,
                "Which EKs join, and in which pool: \"HASH\" = \"pool_...\""});
  to.push_back({section + "deny", &s.deny,
                "EK hashes that never join; with require_ek_cert also issuers "
                "of EK certificates (RFC 2253)"});
  to.push_back(switched("require_ek_cert", s.require_ek_cert,
                        "Whether every EK needs a verified certificate"));
  to.push_back(switched("require_certified_key", s.require_certified_key,
                        "Whether the node's key must be in the TPM too"));
  to.push_back({section + "admit_verified", &s.admit_verified,
                "Sites where any EK with a verified certificate joins, and in "
                "which pool: \"site_...\" = \"pool_...\""});
  to.push_back(switched("enrollment", s.enrollment,
                        "Whether a machine whose EK nobody knows waits for an "
                        "approval, instead of being refused"));
  to.push_back(lasting("pending_ttl", s.pending_ttl, 60, longest_wait,
                       "How long it waits"));
  option places{section + "pending_places", &s.pending_places,
                "How many of a site may wait whose EK certificate is not "
                "verified"};
  places.least = 1;
  places.most = most_places;
  to.push_back(std::move(places));
  to.push_back(lasting("max_lifetime", s.max_lifetime, shortest_lifetime,
                       pki::max_node_lifetime.count(),
                       "The most that a certificate lasts of a node that "
                       "joined by a TPM, renewals too"));
}

std::vector<std::string> problems_of(const tpm_settings& s) {
  std::vector<std::string> found;
  for (const auto& [ek, pool] : s.allow) {
    if (!is_ek_hash(ek))
      found.push_back(section + "allow: '" + ek +
                      "' is not the 64 lower-case digits of an EK's hash");
    if (!pool_id::parse(pool))
      found.push_back(section + "allow: '" + pool + "' is no pool's id");
  }
  for (const auto& one : s.deny)
    find_problem_of_denied(found, one, s);
  for (const auto& [site, pool] : s.admit_verified) {
    if (!site_id::parse(site))
      found.push_back(section + "admit_verified: '" + site +
                      "' is no site's id");
    if (!pool_id::parse(pool))
      found.push_back(section + "admit_verified: '" + pool +
                      "' is no pool's id");
  }
  const bool wants_roots = s.require_ek_cert || !s.admit_verified.empty();
  if (wants_roots && s.ek_roots.empty())
    found.push_back(section +
                    "ek_roots is missing: no EK certificate can be verified");
  return found;
}

result<std::optional<actors::tpm_attestor>> attestor_of(const tpm_settings& s) {
  std::optional<actors::tpm_attestor> out;
  if (!s.enabled)
    return out;
  auto& tpm = out.emplace();
  BC_TRY(roots, certificates_in(s.ek_roots));
  BC_TRY(intermediates, certificates_in(s.ek_intermediates));
  tpm.judge.ek_roots = std::move(roots);
  tpm.judge.ek_intermediates = std::move(intermediates);
  std::ranges::transform(s.deny, std::back_inserter(tpm.judge.denied),
                         unlabelled);
  tpm.judge.require_ek_certificate = s.require_ek_cert;
  tpm.judge.require_certified_key = s.require_certified_key;
  for (const auto& [ek, pool] : s.allow) {
    BC_TRY(where, pool_id::parse(pool));
    tpm.allowed.emplace(ek, std::move(where));
  }
  for (const auto& [site, pool] : s.admit_verified) {
    BC_TRY(at, site_id::parse(site));
    BC_TRY(where, pool_id::parse(pool));
    tpm.admit_verified.emplace(std::move(at), std::move(where));
  }
  if (s.enrollment)
    tpm.enrollment = {s.pending_ttl, s.pending_places};
  tpm.max_lifetime = s.max_lifetime;
  return out;
}

}  // namespace bc::serve
