#include "events/postgres_trust.hpp"

#include <libpq-fe.h>

#include <arpa/inet.h>
#include <memory>
#include <string_view>

namespace bc::postgres {

namespace {

using options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::string value_in(const options& all, std::string_view name) {
  for (const auto* o = all.get(); o != nullptr && o->keyword != nullptr; ++o)
    if (o->keyword == name && o->val != nullptr && *o->val != '\0')
      return o->val;
  return {};
}

// A name may begin with "127." as well.
bool is_loopback(const std::string& host) {
  in_addr at{};
  return host == "localhost" || host == "::1" ||
         (::inet_pton(AF_INET, host.c_str(), &at) == 1 &&
          ntohl(at.s_addr) >> 24 == 127);
}

bool is_here(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') ||
         is_loopback(std::string{host});
}

bool are_here(std::string_view hosts) {
  for (;;) {
    auto end = hosts.find(',');
    if (!is_here(hosts.substr(0, end)))
      return false;
    if (end == std::string_view::npos)
      return true;
    hosts.remove_prefix(end + 1);
  }
}

}  // namespace

bool checks_server(const std::string& url) {
  const options given{PQconninfoParse(url.c_str(), nullptr), &PQconninfoFree};
  // The environment's, with its service, else libpq's own.
  const options usual{PQconndefaults(), &PQconninfoFree};
  // What the URL's own service says, hosts too, is not known here.
  const bool has_service = !value_in(given, "service").empty();
  auto value_of = [&](std::string_view name) {
    auto value = value_in(given, name);
    return value.empty() && !has_service ? value_in(usual, name) : value;
  };
  auto mode = value_of("sslmode");
  if (mode == "verify-full" || mode == "verify-ca")
    return true;
  if (has_service)
    return false;
  auto at = value_of("hostaddr");
  return are_here(at.empty() ? value_of("host") : at);
}

}  // namespace bc::postgres
