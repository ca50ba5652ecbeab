#pragma once

#include "base/clock.hpp"
#include "tests/support/soft_tpm.hpp"

#include <optional>
#include <string>
#include <vector>

/// EK certificates and their authorities, as vendors make them and as they do
/// not.
namespace bc::testing {

struct ek_issuer {
  soft_pkey key;
  bytes certificate;
  std::string name;
};

struct ca_options {
  bool is_ca = true;
  bool basic_constraints = true;
  std::optional<int> path_length;
  /// "keyCertSign", or another list of OpenSSL's.
  std::string key_usage = "critical,keyCertSign,cRLSign";
  bool sha1 = false;
  time_point not_before = from_rfc3339("2020-01-01T00:00:00Z").value();
  time_point not_after = from_rfc3339("2050-01-01T00:00:00Z").value();
};

/// Self-signed without a signer.
[[nodiscard]] ek_issuer make_ek_ca(const std::string& name, int number,
                                   const ek_issuer* signer = nullptr,
                                   const ca_options& options = {});

struct ek_options {
  std::string common_name;  // none: the subject is empty
  std::string extended_key_usage = "2.23.133.8.1";
  std::string key_usage;  // none: by the key
  std::string basic_constraints = "critical,CA:FALSE";
  /// The OIDs of the TPM's attributes and what they say.
  std::vector<std::pair<std::string, std::string>> tpm_attributes{
      {"2.23.133.2.1", "id:49465800"},
      {"2.23.133.2.2", "SLB9670"},
      {"2.23.133.2.3", "id:00070055"}};
  bool san = true;
  bool san_critical = true;
  /// A second name in the SAN, a DNS name.
  bool san_with_dns = false;
  bool unknown_critical = false;
  bool oaep_oid = false;
  /// The point of a curve's key in its short form.
  bool compressed_point = false;
  bool sha1 = false;
  long version = 2;  // v3
  time_point not_before = from_rfc3339("2024-01-01T00:00:00Z").value();
  /// 9999-12-31T23:59:59Z, as many are.
  std::string not_after = "99991231235959Z";
};

[[nodiscard]] bytes make_ek_certificate(const soft_key& ek,
                                        const ek_issuer& signer,
                                        const ek_options& options = {});

}  // namespace bc::testing
