#include "daemon/config.hpp"

#include "base/ids.hpp"
#include "pki/key.hpp"

// The parser itself, so that bcd needs no shared library for it.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
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

result<std::string> text_of(const toml::node& node, std::string_view key) {
  const auto* value = node.as_string();
  if (value == nullptr)
    return bad(std::string{key} + " must be a string");
  return value->get();
}

// One key of a table: a text, and what takes it.
struct table_key {
  std::string_view name;
  std::function<result<void>(const std::string& text)> take;
};

result<void> read_table(const toml::node& node, std::string_view name,
                        std::initializer_list<table_key> keys) {
  const auto* table = node.as_table();
  if (table == nullptr)
    return bad(std::string{name} + " must be a table");
  for (const auto& [key, value] : *table) {
    auto full = std::string{name} + "." + std::string{key.str()};
    const auto* known = std::find_if(
        keys.begin(), keys.end(),
        [&key = key](const table_key& k) { return k.name == key.str(); });
    if (known == keys.end())
      return bad("unknown key " + full);
    BC_TRY(text, text_of(value, full));
    auto taken = known->take(text);
    if (!taken)
      return bad(full + " " + taken.error().message);
  }
  return ok();
}

auto into(std::string& field) {
  return [&field](const std::string& text) -> result<void> {
    if (text.empty())
      return bad("must not be empty");
    field = text;
    return ok();
  };
}

auto into(std::filesystem::path& field) {
  return [&field](const std::string& text) -> result<void> {
    if (!std::filesystem::path{text}.is_absolute())
      return bad("must be an absolute path");
    field = text;
    return ok();
  };
}

auto into(tpm_settings::use& field) {
  return [&field](const std::string& text) -> result<void> {
    using use = tpm_settings::use;
    if (text != "auto" && text != "true" && text != "false")
      return bad("must be \"auto\", \"true\" or \"false\"");
    field = text == "auto"   ? use::automatic
            : text == "true" ? use::always
                             : use::never;
    return ok();
  };
}

result<void> read_tpm(const toml::node& node, config& out) {
  auto& t = out.tpm;
  return read_table(node, "tpm",
                    {{"enabled", into(t.enabled)},
                     {"tcti", into(t.tcti)},
                     {"owner_auth_file", into(t.owner_auth_file)},
                     {"endorsement_auth_file", into(t.endorsement_auth_file)}});
}

result<void> read_helper(const toml::node& node, config& out) {
  auto& h = out.helper.emplace();
  return read_table(node, "helper",
                    {{"user", into(h.user)}, {"socket", into(h.socket)}});
}

auto into_listen(std::string& field) {
  return [&field](const std::string& text) -> result<void> {
    if (!parse_listen_address(text))
      return bad("must be ADDRESS:PORT, for example 10.0.0.2:9480");
    field = text;
    return ok();
  };
}

result<void> read_site_agent(const toml::node& node, config& out) {
  auto& s = out.site_agent;
  return read_table(node, "site_agent",
                    {{"listen", into_listen(s.listen)},
                     {"leases_file", into(s.leases_file)}});
}

struct named_table {
  std::string_view name;
  result<void> (*read)(const toml::node&, config&);
};
constexpr std::array<named_table, 3> tables = {
    {{"tpm", read_tpm},
     {"helper", read_helper},
     {"site_agent", read_site_agent}}};

result<config> read_keys(const toml::table& table) {
  config out;
  for (const auto& [key, node] : table) {
    std::string_view name = key.str();
    const auto* one =
        std::find_if(tables.begin(), tables.end(),
                     [name](const named_table& t) { return t.name == name; });
    if (one != tables.end()) {
      BC_TRYV(one->read(node, out));
      continue;
    }
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
