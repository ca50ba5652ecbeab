#include "gateway/rate_limit.hpp"

#include "base/ids.hpp"
#include "gateway/routes.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

namespace bc::gateway {

namespace {

http_response too_many(seconds retry_after) {
  http_response out;
  out.status = http_status(errc::rate_limited);
  out.headers["retry-after"] = std::to_string(retry_after.count());
  out.headers["cache-control"] = "no-store";
  auto id = pki::mint<request_id>(system_clock{}.now()).str();
  out.body = error_body(wire_text(errc::rate_limited),
                        "too many requests from this address", id);
  out.headers["x-request-id"] = std::move(id);
  return out;
}

}  // namespace

std::string peer_key(std::string_view address) {
  // A scope ("fe80::1%eth0") names a link of ours, not another peer.
  std::string text{address.substr(0, address.find('%'))};
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
    return text;
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0,    0,
                                                 0, 0, 0, 0, 0xff, 0xff};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (std::equal(mapped.begin(), mapped.end(), bytes.begin()))
    return ::inet_ntop(AF_INET, bytes.data() + mapped.size(), out.data(),
                       out.size());
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  std::string prefix =
      ::inet_ntop(AF_INET6, bytes.data(), out.data(), out.size());
  return prefix + "/64";
}

bool peer_counts::enter(const std::string& peer, std::size_t limit) {
  auto& count = counts_[peer];
  if (limit != 0 && count >= limit)
    return false;
  ++count;
  return true;
}

void peer_counts::leave(const std::string& peer) {
  auto found = counts_.find(peer);
  if (found != counts_.end() && --found->second == 0)
    counts_.erase(found);
}

std::optional<seconds> peer_limiter::take(std::string_view address,
                                          steady::time_point now) {
  if (rate_.per_second <= 0)
    return std::nullopt;
  auto peer = peer_key(address);
  std::lock_guard lock{mutex_};
  auto& own = recent_.use(peer, {rate_.burst, now});
  std::chrono::duration<double> passed = now - own.at;
  own.at = std::max(own.at, now);
  own.tokens =
      std::min(rate_.burst,
               own.tokens + std::max(0.0, passed.count()) * rate_.per_second);
  if (own.tokens >= 1) {
    own.tokens -= 1;
    return std::nullopt;
  }
  return seconds{std::max(
      1L, static_cast<long>(std::ceil((1 - own.tokens) / rate_.per_second)))};
}

std::size_t peer_limiter::peers() const {
  std::lock_guard lock{mutex_};
  return recent_.size();
}

http_handler limit_peers(http_handler inner, peer_rate rate) {
  auto limiter = std::make_shared<peer_limiter>(rate);
  return [inner = std::move(inner), limiter](http_request request,
                                             respond done) {
    if (request.method == "POST")
      if (auto later =
              limiter->take(request.peer_address, peer_limiter::steady::now()))
        return done(too_many(*later));
    inner(std::move(request), std::move(done));
  };
}

}  // namespace bc::gateway
