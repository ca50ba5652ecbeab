#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bc::pki {

struct spiffe_id {
  std::string trust_domain;
  std::string site;
  std::string node;
  bool operator==(const spiffe_id&) const = default;
};

/// Lower-case letters, digits, dots, dashes and underscores, 1 to 255 bytes
/// (SPIFFE-ID section 2.1); upper case, a port, a slash: INVALID_INPUT.
[[nodiscard]] result<std::string> parse_trust_domain(std::string_view text);

/// spiffe://<trustDomain>/site/<siteId>/node/<nodeId>
[[nodiscard]] std::string to_uri(const spiffe_id& id);

/// Byte for byte the form to_uri writes, with valid ids; else INVALID_INPUT.
[[nodiscard]] result<spiffe_id> parse_spiffe_id(std::string_view uri);

}  // namespace bc::pki
