#include "ops/cli/profile.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace bc::cli {

namespace {

constexpr std::size_t longest_name = 64;

using member = std::string profile::*;
constexpr std::pair<std::string_view, member> text_fields[] = {
    {"url", &profile::url},
    {"ca_file", &profile::ca_file},
    {"credential", &profile::credential},
    {"credential_file", &profile::credential_file},
    {"tenant", &profile::tenant},
    {"pool", &profile::pool},
};
constexpr std::string_view position_key = "position";

result<void> put(profile& to, const std::string& name, std::string_view key,
                 const toml::node& value) {
  const auto shown = name + "." + std::string{key};
  if (key == position_key) {
    const auto* number = value.as_integer();
    if (number == nullptr || number->get() < 0)
      return fail(errc::invalid_config, shown + " must be a whole number");
    to.position = static_cast<std::uint64_t>(number->get());
    return ok();
  }
  const auto* known =
      std::find_if(std::begin(text_fields), std::end(text_fields),
                   [&](const auto& t) { return t.first == key; });
  if (known == std::end(text_fields))
    return fail(errc::invalid_config, "unknown key " + shown);
  const auto* text = value.as_string();
  if (text == nullptr)
    return fail(errc::invalid_config, shown + " must be a text in quotes");
  to.*(known->second) = text->get();
  return ok();
}

result<profile> read_one(const std::string& name, const toml::node& section) {
  const auto* table = section.as_table();
  if (table == nullptr || !is_profile_name(name))
    return fail(errc::invalid_config,
                "every line belongs below a [NAME] of letters, digits, dashes "
                "and underscores");
  profile out;
  for (const auto& [key, value] : *table) {
    BC_TRYV(put(out, name, key.str(), value));
  }
  if (out.url.empty())
    return fail(errc::invalid_config, name + " has no url");
  if (!out.credential.empty() && !out.credential_file.empty())
    return fail(errc::invalid_config,
                name + " has both credential and credential_file");
  return out;
}

std::string_view without_slash(std::string_view url) {
  while (url.ends_with('/'))
    url.remove_suffix(1);
  return url;
}

}  // namespace

bool is_profile_name(std::string_view text) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !text.empty() && text.size() <= longest_name &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

bool same_url(std::string_view a, std::string_view b) {
  return without_slash(a) == without_slash(b);
}

result<profiles> parse_profiles(std::string_view text) {
  toml::table table;
  // toml++ reports by exception; its text may repeat a secret, so only the
  // place leaves.
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& e) {
    return fail(
        errc::invalid_config,
        "line " + std::to_string(e.source().begin.line) + " is not TOML");
  }
  profiles out;
  for (const auto& [name, section] : table) {
    BC_TRY(one, read_one(std::string{name.str()}, section));
    out.emplace(std::string{name.str()}, std::move(one));
  }
  return out;
}

std::string format_profiles(const profiles& all) {
  std::string out = "# Written by `better-compute login`; holds credentials.\n";
  for (const auto& [name, one] : all) {
    toml::table fields;
    for (const auto& [key, which] : text_fields)
      if (const auto& text = one.*which; !text.empty())
        fields.insert(key, text);
    if (one.position > 0 && one.position <= most_position)
      fields.insert(position_key, static_cast<std::int64_t>(one.position));
    toml::table section;
    section.insert(name, std::move(fields));
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << toml::default_formatter{section,
                                    toml::format_flags::allow_unicode_strings};
    out += "\n" + text.str() + "\n";
  }
  return out;
}

}  // namespace bc::cli
