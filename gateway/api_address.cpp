#include "gateway/api_address.hpp"

#include "gateway/url.hpp"

namespace bc::gateway {

result<api_address> parse_api_address(std::string_view text) {
  // A URL's host and port, without a scheme.
  auto url = parse_url("https://" + std::string{text});
  if (!url || text.find('/') != text.npos || text.ends_with(':') ||
      text.rfind(':') == text.npos || text.ends_with(']'))
    return fail(errc::invalid_input,
                "\"" + std::string{text} + "\" is not host:port");
  return api_address{url.value().host, url.value().port};
}

}  // namespace bc::gateway
