#include "pki/spiffe.hpp"

#include "base/ids.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

constexpr std::string_view scheme = "spiffe://";
constexpr std::string_view site_part = "/site/";
constexpr std::string_view node_part = "/node/";

fault bad_id() {
  return fail(errc::invalid_input, "not a node's SPIFFE id");
}

}  // namespace

result<std::string> parse_trust_domain(std::string_view text) {
  bool good = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (text.empty() || text.size() > 255 || !good)
    return fail(errc::invalid_input,
                "a trust domain is 1 to 255 lower-case letters, digits, dots, "
                "dashes and underscores");
  return std::string{text};
}

std::string to_uri(const spiffe_id& id) {
  std::string out{scheme};
  out += id.trust_domain;
  out += site_part;
  out += id.site;
  out += node_part;
  out += id.node;
  return out;
}

result<spiffe_id> parse_spiffe_id(std::string_view uri) {
  if (!uri.starts_with(scheme))
    return bad_id();
  uri.remove_prefix(scheme.size());
  auto site_at = uri.find('/');
  if (site_at == uri.npos || !uri.substr(site_at).starts_with(site_part))
    return bad_id();
  auto domain = parse_trust_domain(uri.substr(0, site_at));
  uri.remove_prefix(site_at + site_part.size());
  auto node_at = uri.find('/');
  if (node_at == uri.npos || !uri.substr(node_at).starts_with(node_part))
    return bad_id();
  auto site = site_id::parse(uri.substr(0, node_at));
  auto node = node_id::parse(uri.substr(node_at + node_part.size()));
  if (!domain || !site || !node)
    return bad_id();
  return spiffe_id{std::move(domain.value()), site.value().str(),
                   node.value().str()};
}

}  // namespace bc::pki
