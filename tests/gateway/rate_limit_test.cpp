// The gateway's own limits on what one address may ask.
#include "gateway/rate_limit.hpp"

#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {
const peer_limiter::steady::time_point start{};
}

TEST_CASE("rate_limit: one peer is an IPv4 address or an IPv6 /64") {
  CHECK(peer_key("192.0.2.1") == "192.0.2.1");
  CHECK(peer_key("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(peer_key("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(peer_key("2001:db8:1:2:ffff::") == peer_key("2001:DB8:1:2::9"));
  CHECK(peer_key("2001:db8:1:2::1") != peer_key("2001:db8:1:3::1"));
  CHECK(peer_key("fe80::1%eth0") == "fe80::/64");
  CHECK(peer_key("") == "");
}

TEST_CASE("rate_limit: a burst, then so many in a second") {
  peer_limiter limit{{.per_second = 2, .burst = 3}};
  auto now = start;
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(limit.take("192.0.2.1", now));
  CHECK(limit.take("192.0.2.1", now) == seconds{1});
  CHECK_FALSE(limit.take("192.0.2.2", now));  // another's is its own
  now += milliseconds{499};
  CHECK(limit.take("192.0.2.1", now));
  now += milliseconds{2};
  CHECK_FALSE(limit.take("192.0.2.1", now));
  CHECK(limit.take("192.0.2.1", now));
  now += seconds{3600};
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(limit.take("192.0.2.1", now));
  CHECK(limit.take("192.0.2.1", now));
}

TEST_CASE("rate_limit: refusals cost the refused nothing more") {
  peer_limiter limit{{.per_second = 1, .burst = 1}};
  CHECK_FALSE(limit.take("a", start));
  for (int i = 1; i < 10; ++i)
    CHECK(limit.take("a", start + milliseconds{100 * i}));
  CHECK_FALSE(limit.take("a", start + milliseconds{1001}));
}

TEST_CASE("rate_limit: a time that goes back gives nothing away") {
  peer_limiter limit{{.per_second = 1, .burst = 1}};
  CHECK_FALSE(limit.take("a", start + seconds{10}));
  CHECK(limit.take("a", start));
  CHECK(limit.take("a", start + seconds{10}));
}

TEST_CASE("rate_limit: the table is bounded; the longest unseen goes") {
  peer_limiter limit{{.per_second = 1, .burst = 1, .max_peers = 3}};
  for (const auto* peer : {"a", "b", "c"})
    CHECK_FALSE(limit.take(peer, start));
  CHECK(limit.take("a", start));        // seen again
  CHECK_FALSE(limit.take("d", start));  // b is forgotten
  CHECK(limit.peers() == 3);
  CHECK(limit.take("a", start));
  CHECK(limit.take("c", start));
  CHECK_FALSE(limit.take("b", start));
  for (int i = 0; i < 10'000; ++i)
    (void)limit.take(
        "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250),
        start);
  CHECK(limit.peers() == 3);
}

TEST_CASE(
    "rate_limit: over it a POST is 429 with retry-after, a GET is not "
    "counted") {
  auto server = serve({}, limit_peers(echo, {.per_second = 0.01, .burst = 2}));
  for (int i = 0; i < 5; ++i)
    CHECK(ask(*server, "GET", "/healthz").status == 200);
  CHECK(ask(*server, "POST", "/v1/join", "x").status == 200);
  CHECK(ask(*server, "POST", "/v1/join", "x").status == 200);
  raw_socket client{server->port()};
  client.send("POST /v1/join HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  auto answer = client.read_answer();
  CHECK(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  CHECK(answer.find("\r\nretry-after: ") != answer.npos);
  CHECK(answer.find("\"code\":\"RATE_LIMITED\"") != answer.npos);
}
