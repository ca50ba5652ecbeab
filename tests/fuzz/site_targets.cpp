#include "base/encoding.hpp"
#include "daemon/discovery_wire.hpp"
#include "daemon/site_leases.hpp"
#include "tests/fuzz/targets.hpp"

#include <arpa/inet.h>

namespace bc::fuzz {

// Whatever stands in the DHCP server's file, what is read of it are addresses
// and MACs in the one form in which they are compared; and a line more changes
// nothing in the lines before it.
void dhcp_leases(byte_view input) {
  auto read = daemon::parse_dnsmasq_leases(text_of(input));
  if (!read)
    return;
  for (const auto& [ip, lease] : read.value()) {
    in_addr address{};
    char again[INET_ADDRSTRLEN] = {};
    BC_MUST(::inet_pton(AF_INET, ip.c_str(), &address) == 1);
    BC_MUST(ip == ::inet_ntop(AF_INET, &address, again, sizeof again));
    BC_MUST(lease.mac.size() == 17);
    for (std::size_t i = 0; i < lease.mac.size(); ++i)
      BC_MUST(i % 3 == 2 ? lease.mac[i] == ':'
                         : std::string_view{"0123456789abcdef"}.find(
                               lease.mac[i]) != std::string_view::npos);
  }
  const auto more =
      daemon::parse_dnsmasq_leases("0 02:00:00:00:00:01 255.255.255.255 * *\n" +
                                   std::string{text_of(input)});
  BC_MUST(more.has_value() || read.value().contains("255.255.255.255"));
}

// The request for a vouch, and the answer: there and back.
void vouch_exchange(byte_view input) {
  auto text = text_of(input);
  if (auto request = daemon::decode_vouch_request(text)) {
    auto again = daemon::decode_vouch_request(daemon::encode(request.value()));
    BC_MUST(again.has_value());
    BC_MUST(again.value() == request.value());
  }
  for (int status : {200, 400, 403, 404, 429, 503}) {
    auto answer = daemon::decode_vouch_answer(status, text);
    if (!answer)
      continue;
    BC_MUST(daemon::status_of(answer.value()) == status);
    auto again =
        daemon::decode_vouch_answer(status, daemon::encode(answer.value()));
    BC_MUST(again.has_value());
    BC_MUST(again.value() == answer.value());
  }
}

}  // namespace bc::fuzz
