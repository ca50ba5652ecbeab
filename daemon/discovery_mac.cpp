#include "daemon/discovery_mac.hpp"

#include "base/encoding.hpp"
#include "daemon/hardware.hpp"
#include "pki/hardware_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if_arp.h>
#include <netdb.h>
#include <netpacket/packet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::size_t mac_size = 6;

struct free_addresses {
  void operator()(addrinfo* all) const { ::freeaddrinfo(all); }
};
struct free_interfaces {
  void operator()(ifaddrs* all) const { ::freeifaddrs(all); }
};

fault failed(const std::string& what) {
  return fail(errc::invalid_state, what + ": " + std::strerror(errno));
}

// A datagram socket that is connected has sent nothing, but knows its route.
result<sockaddr_storage> own_address_towards(const endpoint& to) {
  auto nowhere = [&to](const std::string& why) {
    return fail(errc::unavailable, "no way to " + to.host + ": " + why);
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  int error = ::getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found);
  if (error != 0)
    return nowhere(::gai_strerror(error));
  std::unique_ptr<addrinfo, free_addresses> all{found};
  std::string why = "no address";
  for (const auto* one = found; one != nullptr; one = one->ai_next) {
    int s = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
      continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    const bool known =
        ::connect(s, one->ai_addr, one->ai_addrlen) == 0 &&
        ::getsockname(s, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    why = std::strerror(errno);
    ::close(s);
    if (known)
      return own;
  }
  return nowhere(why);
}

bool is_same(const sockaddr* a, const sockaddr_storage& b) {
  if (a == nullptr || a->sa_family != b.ss_family)
    return false;
  if (a->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&b)->sin_addr.s_addr;
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(&b)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

std::string mac_in(const sockaddr* address) {
  const auto* link = reinterpret_cast<const sockaddr_ll*>(address);
  if (link->sll_hatype != ARPHRD_ETHER || link->sll_halen != mac_size)
    return {};
  auto out = to_hex(byte_view{link->sll_addr, mac_size});
  for (std::size_t at : {10UL, 8UL, 6UL, 4UL, 2UL})
    out.insert(at, 1, ':');
  return out;
}

bool claims_have(const pki::hardware_claims& claims, const std::string& mac) {
  return std::any_of(
      claims.macs.begin(), claims.macs.end(),
      [&mac](const std::string& one) { return pki::parse_mac(one) == mac; });
}

}  // namespace

result<network_interface> interface_towards(const endpoint& to) {
  BC_TRY(own, own_address_towards(to));
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0)
    return failed("the network interfaces cannot be listed");
  std::unique_ptr<ifaddrs, free_interfaces> all{found};
  network_interface out;
  for (const auto* one = found; one != nullptr; one = one->ifa_next)
    if (is_same(one->ifa_addr, own))
      out.name = one->ifa_name;
  // The label of a second address: eth0:1.
  out.name = out.name.substr(0, out.name.find(':'));
  if (out.name.empty())
    return fail(errc::unavailable,
                "the address towards " + to.host + " has just gone");
  for (const auto* one = found; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_PACKET &&
        out.name == one->ifa_name)
      out.current_mac = mac_in(one->ifa_addr);
  return out;
}

result<std::string> mac_of(const network_interface& nic,
                           const std::optional<std::string>& permanent,
                           const pki::hardware_claims& claims) {
  for (const auto& mac : {permanent.value_or(""), nic.current_mac})
    if (!mac.empty() && claims_have(claims, mac))
      return mac;
  return fail(errc::invalid_state,
              "this machine reaches the site agent by " + nic.name + " (" +
                  (nic.current_mac.empty() ? "no MAC" : nic.current_mac) +
                  "), which is none of its network cards as bcd knows them "
                  "(docs/hardware.md)");
}

result<std::string> mac_towards(const endpoint& to,
                                const pki::hardware_claims& claims) {
  BC_TRY(nic, interface_towards(to));
  BC_TRY(permanent, permanent_mac(nic.name));
  return mac_of(nic, permanent, claims);
}

}  // namespace bc::daemon
