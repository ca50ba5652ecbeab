#include "daemon/config.hpp"

#include "base/ids.hpp"
#include "pki/key.hpp"

// The parser itself, so that bcd needs no shared library for it.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace bc::daemon {

namespace {

fault bad(std::string message) {
  return fail(errc::invalid_config, std::move(message));
}

struct text_key {
  std::string_view name;
  std::string config::*field;
};

constexpr std::array<text_key, 5> required = {{
    {"gateway_url", &config::gateway_url},
    {"site", &config::site},
    {"serving_ca_spki_pin", &config::serving_ca_spki_pin},
    {"join_signing_key_pin", &config::join_signing_key_pin},
    {"join_encryption_key_pin", &config::join_encryption_key_pin},
}};

constexpr std::string_view data_dir_key = "data_dir";

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5)
    return false;
  int value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    value = value * 10 + (c - '0');
  }
  return value >= 1 && value <= 65535;
}

// Splits host and port; false when they are not well formed.
bool split_authority(std::string_view authority, endpoint& out) {
  std::string_view host;
  std::string_view rest;
  if (authority.starts_with('[')) {
    auto close = authority.find(']');
    if (close == std::string_view::npos)
      return false;
    host = authority.substr(1, close - 1);
    rest = authority.substr(close + 1);
    if (host.find(':') == std::string_view::npos ||
        host.find_first_not_of("0123456789abcdefABCDEF:.") !=
            std::string_view::npos)
      return false;
  } else {
    host = authority.substr(0, authority.find(':'));
    rest = authority.substr(host.size());
    if (host.empty() || host.size() > 253 ||
        !std::all_of(host.begin(), host.end(), is_host_char))
      return false;
  }
  out.host = std::string{host};
  if (rest.empty())
    return true;
  if (rest.front() != ':' || !is_port(rest.substr(1)))
    return false;
  out.port = std::string{rest.substr(1)};
  return true;
}

result<std::string> text_of(const toml::node& node, std::string_view key) {
  const auto* value = node.as_string();
  if (value == nullptr)
    return bad(std::string{key} + " must be a string");
  return value->get();
}

result<config> read_keys(const toml::table& table) {
  config out;
  for (const auto& [key, node] : table) {
    std::string_view name = key.str();
    const auto* known =
        std::find_if(required.begin(), required.end(),
                     [name](const text_key& k) { return k.name == name; });
    if (known == required.end() && name != data_dir_key)
      return bad("unknown key " + std::string{name});
    BC_TRY(text, text_of(node, name));
    if (known != required.end())
      out.*(known->field) = text;
    else
      out.data_dir = text;
  }
  for (const auto& k : required)
    if (!table.contains(k.name))
      return bad(std::string{k.name} + " is missing");
  return out;
}

result<toml::table> parse_toml(const std::filesystem::path& file) {
  // toml++ reports by exception; it stops here.
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& e) {
    std::ostringstream where;
    where << e.description() << " (" << e.source().begin << ")";
    return bad(where.str());
  }
}

}  // namespace

result<endpoint> parse_gateway_url(std::string_view url) {
  constexpr std::string_view scheme = "https://";
  auto wrong = bad("gateway_url must be https://HOST or https://HOST:PORT");
  if (!url.starts_with(scheme))
    return wrong;
  auto authority = url.substr(scheme.size());
  if (authority.ends_with('/'))
    authority.remove_suffix(1);
  endpoint out;
  if (!split_authority(authority, out))
    return wrong;
  return out;
}

result<void> check(const config& c) {
  BC_TRYV(parse_gateway_url(c.gateway_url));
  if (!site_id::parse(c.site))
    return bad("site must be a site id (site_…)");
  for (const auto& k : required)
    if (k.name.ends_with("_pin") && !pki::is_pin(c.*(k.field)))
      return bad(std::string{k.name} +
                 " must be sha256/ and the padded base64 of the SHA-256 of a "
                 "public key (SPKI), as `better-compute pki show` prints it");
  if (!c.data_dir.is_absolute())
    return bad("data_dir must be an absolute path");
  return ok();
}

result<config> load_config(const std::filesystem::path& file) {
  auto named = [&file](fault f) {
    f.message = file.string() + ": " + f.message;
    return f;
  };
  auto table = parse_toml(file);
  if (!table)
    return named(table.error());
  auto out = read_keys(table.value());
  if (!out)
    return named(out.error());
  out.value().join_encryption_jwk = file.parent_path() / "join-encryption.jwk";
  auto checked = check(out.value());
  if (!checked)
    return named(checked.error());
  return out;
}

}  // namespace bc::daemon
