#include "ops/cli/install_script.hpp"

#include "base/encoding.hpp"
#include "base/ids.hpp"
#include "daemon/config.hpp"
#include "gateway/url.hpp"
#include "install/embedded.hpp"
#include "pki/release.hpp"

#include <algorithm>

namespace bc::cli {

namespace {

constexpr std::size_t digest_digits = 64;
// Where the script puts the program, and where a package does.
constexpr std::string_view packaged_program = "/usr/bin/bcd ";
constexpr std::string_view installed_program = "/usr/local/bin/bcd ";

fault bad(std::string message) {
  return fail(errc::invalid_input, std::move(message));
}

// What a URL that was parsed may still hold is all plain in a shell's quotes.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           std::string_view{"_-./:[]"}.find(c) != std::string_view::npos;
  });
}

std::string without_slash(std::string text) {
  if (text.ends_with('/'))
    text.pop_back();
  return text;
}

result<void> check_base(const install_values& v) {
  auto url = gateway::parse_url(v.base_url);
  if (!url || !is_plain(v.base_url))
    return bad("--base-url must be https://HOST or https://HOST:PORT");
  if (!url.value().tls && !gateway::is_loopback(url.value().host))
    return bad("--base-url: plain HTTP is for loopback alone; use https://");
  if (!v.base_path.starts_with('/') || v.base_path.ends_with('/') ||
      !is_plain(v.base_path))
    return bad("--base-path must be like /api/compute");
  return ok();
}

result<void> check(const install_values& v) {
  if (!pool_id::parse(v.pool))
    return bad("--pool is not a pool's id (pool_…)");
  if (!site_id::parse(v.site))
    return bad("--site is not a site's id (site_…)");
  if (!daemon::parse_gateway_url(v.gateway_url))
    return bad("--gateway-url must be https://HOST or https://HOST:PORT");
  BC_TRYV(check_base(v));
  if (!pki::is_release_version(v.version))
    return bad(
        "--bcd-version must be a version like 0.1.0: letters, digits and "
        ". + - _");
  return ok();
}

result<std::string> digest_of(const program_digests& digests,
                              const std::string& arch) {
  auto found = digests.find(arch);
  if (found == digests.end())
    return std::string{};
  auto digest = from_hex(found->second);
  if (!digest || found->second.size() != digest_digits)
    return bad("the SHA-256 of " + arch + " is not 64 hex digits");
  return to_hex(digest.value());
}

std::string unit_text(std::string_view packaged) {
  std::string out{packaged};
  auto at = out.find(packaged_program);
  if (at != std::string::npos)
    out.replace(at, packaged_program.size(), installed_program);
  while (out.ends_with('\n'))
    out.pop_back();
  return out;
}

// In one pass, so that no value is searched for names.
std::string filled(std::string_view text,
                   const std::map<std::string_view, std::string>& values) {
  constexpr std::string_view opening = "{{";
  constexpr std::string_view closing = "}}";
  std::string out;
  for (;;) {
    auto open = text.find(opening);
    auto close = text.find(closing, open);
    if (open == std::string_view::npos || close == std::string_view::npos)
      return out.append(text);
    out.append(text.substr(0, open));
    auto name =
        text.substr(open + opening.size(), close - open - opening.size());
    if (auto value = values.find(name); value != values.end())
      out.append(value->second);
    else
      out.append(text.substr(open, close + closing.size() - open));
    text.remove_prefix(close + closing.size());
  }
}

}  // namespace

result<std::string> install_script(const install_values& v) {
  BC_TRYV(check(v));
  if (v.digests.empty())
    return bad("no SHA-256 of bcd is given");
  BC_TRY(amd64, digest_of(v.digests, "amd64"));
  BC_TRY(arm64, digest_of(v.digests, "arm64"));
  return filled(install::script,
                {{"version", v.version},
                 {"pool", v.pool},
                 {"site", v.site},
                 {"gateway_url", without_slash(v.gateway_url)},
                 {"download_url", without_slash(v.base_url) + v.base_path +
                                      "/downloads/bcd/" + v.version},
                 {"sha256_amd64", amd64},
                 {"sha256_arm64", arm64},
                 {"serving_ca_pin", v.keys.serving_ca_pin},
                 {"join_signing_pin", v.keys.join_signing_pin},
                 {"join_encryption_pin", v.keys.join_encryption_pin},
                 {"join_encryption_jwk", v.keys.join_encryption_jwk},
                 {"unit", unit_text(install::unit)},
                 {"helper_unit", unit_text(install::helper_unit)}});
}

result<program_digests> parse_digests(std::string_view text) {
  const auto form =
      bad("--sha256 must be amd64=HEX, arm64=HEX or both, with "
          "a comma between");
  program_digests out;
  while (!text.empty()) {
    auto comma = text.find(',');
    auto one = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size()
                                                       : comma + 1);
    if (comma != std::string_view::npos && text.empty())
      return form;
    auto equals = one.find('=');
    if (equals == std::string_view::npos)
      return form;
    auto arch = one.substr(0, equals);
    auto hex = one.substr(equals + 1);
    if (!pki::is_release_arch(arch))
      return form;
    auto digest = from_hex(hex);
    if (!digest || hex.size() != digest_digits)
      return bad("--sha256: the SHA-256 of " + std::string{arch} +
                 " must be 64 hex digits");
    if (!out.emplace(arch, to_hex(digest.value())).second)
      return bad("--sha256 names " + std::string{arch} + " twice");
  }
  if (out.empty())
    return form;
  return out;
}

result<program_digests> digests_of_manifest(
    std::string_view manifest, const std::vector<std::string>& pins,
    std::string& version) {
  BC_TRY(release, pki::open_release(manifest, pins));
  if (!version.empty() && version != release.version)
    return bad("the release manifest is of version " + release.version +
               ", not " + version);
  version = release.version;
  program_digests out;
  for (const auto& f : release.files)
    out.emplace(f.arch, to_hex(f.sha256));
  return out;
}

}  // namespace bc::cli
