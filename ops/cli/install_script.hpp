#pragma once

#include "base/result.hpp"
#include "ops/cli/machine_keys.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The script that puts bcd on a server (ops/install/install-bcd.sh), filled
/// for one pool of one deployment (spec: joining#adopting-a-brownfield-server).
namespace bc::cli {

/// SHA-256 in lower-case hex by architecture ("amd64", "arm64").
using program_digests = std::map<std::string, std::string>;

struct install_values {
  std::string pool;
  std::string site;
  std::string gateway_url;
  std::string base_url;
  std::string base_path;
  std::string version;
  program_digests digests;
  machine_keys keys;
};

/// The script. INVALID_INPUT naming the first value that is not well formed:
/// none of them can leave its quotes.
[[nodiscard]] result<std::string> install_script(const install_values& v);

/// "amd64=HEX,arm64=HEX", either or both, in either case of letters.
[[nodiscard]] result<program_digests> parse_digests(std::string_view text);

/// The digests in a signed manifest of this version; an empty version takes
/// the manifest's.
[[nodiscard]] result<program_digests> digests_of_manifest(
    std::string_view manifest, const std::vector<std::string>& pins,
    std::string& version);

}  // namespace bc::cli
