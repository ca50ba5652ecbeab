// The pure parts of a session: what is believed, and when the next one begins.
#include "daemon/command_check.hpp"
#include "daemon/session_client.hpp"
#include "pki/signature.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bc;
using namespace bc::daemon;
using end = session_outcome::end;

namespace {

const time_point now = from_millis(1'764'000'000'000);
constexpr const char* node = "node_01k5w000000000000000000000";

struct signed_command {
  pki::private_key key = pki::private_key::generate();
  wire::command_body body{"cmd_1", node,           "ping",
                          "{}",    to_millis(now), to_millis(now) + 60'000};

  [[nodiscard]] wire::command made(
      pki::purpose p = pki::purpose::command) const {
    return of(wire::encode(body), p);
  }
  [[nodiscard]] wire::command of(const std::string& text,
                                 pki::purpose p = pki::purpose::command) const {
    auto sig = pki::sign(key, p, {as_bytes(text)});
    return {text, {sig.begin(), sig.end()}};
  }
  [[nodiscard]] command_fault check(const wire::command& c,
                                    time_point at = now) const {
    return check_command(c, {key.pub().spki()}, node, at).failed;
  }
};

session_outcome outcome(end what) {
  return {what, "", false};
}

}  // namespace

TEST_CASE("command_check: a genuine command is one") {
  signed_command s;
  auto checked = check_command(s.made(), {s.key.pub().spki()}, node, now);
  CHECK(checked.failed == command_fault::none);
  CHECK(checked.body.command_id == "cmd_1");
  CHECK(checked.body.kind == "ping");
}

TEST_CASE("command_check: each check, in its order") {
  signed_command s;
  SECTION("no signature of the keys") {
    signed_command other;
    CHECK(s.check(other.made()) == command_fault::signature);
    CHECK(check_command(s.made(), {}, node, now).failed ==
          command_fault::signature);
    CHECK(check_command(s.made(), {bytes{1, 2, 3}}, node, now).failed ==
          command_fault::signature);
  }
  SECTION("made for another purpose") {
    CHECK(s.check(s.made(pki::purpose::join_response)) ==
          command_fault::signature);
  }
  SECTION("every flipped bit") {
    auto c = s.made();
    for (std::size_t i = 0; i < c.body.size(); ++i) {
      auto bad = c;
      bad.body[i] = static_cast<char>(bad.body[i] ^ 1);
      REQUIRE(s.check(bad) == command_fault::signature);
    }
    for (auto& byte : c.signature) {
      byte ^= 0x10;
      REQUIRE(s.check(c) == command_fault::signature);
      byte ^= 0x10;
    }
    c.signature.pop_back();
    CHECK(s.check(c) == command_fault::signature);
  }
  SECTION("signed, and no command") {
    CHECK(s.check(s.of("{}")) == command_fault::form);
    CHECK(s.check(s.of("")) == command_fault::form);
  }
  SECTION("another node's") {
    s.body.node_id = "node_01k5w000000000000000000001";
    CHECK(s.check(s.made()) == command_fault::node);
  }
  SECTION("its time is up at the exact millisecond") {
    auto up = from_millis(s.body.expires_at_ms);
    CHECK(s.check(s.made(), up - milliseconds{1}) == command_fault::none);
    CHECK(s.check(s.made(), up) == command_fault::expired);
  }
}

TEST_CASE("command_check: the key before a rotation counts while it is known") {
  signed_command before, after;
  std::vector<bytes> keys{after.key.pub().spki(), before.key.pub().spki()};
  CHECK(check_command(before.made(), keys, node, now).failed ==
        command_fault::none);
  CHECK(check_command(after.made(), keys, node, now).failed ==
        command_fault::none);
}

TEST_CASE("session_wait: doubles from 1 s to 5 min, half to the whole") {
  struct row {
    int failures;
    int whole_ms;
  };
  auto r = GENERATE(row{0, 1'000}, row{1, 1'000}, row{2, 2'000}, row{3, 4'000},
                    row{9, 256'000}, row{10, 300'000}, row{1'000'000, 300'000});
  CAPTURE(r.failures);
  CHECK(session_wait(outcome(end::lost), r.failures, 0).count() ==
        r.whole_ms / 2);
  CHECK(session_wait(outcome(end::lost), r.failures, 999).count() <=
        r.whole_ms);
  CHECK(session_wait(outcome(end::lost), r.failures, 999).count() >=
        r.whole_ms * 99 / 100);
}

TEST_CASE(
    "session_wait: who was turned away waits a minute at least (case 69)") {
  std::mt19937 random{7};
  for (int i = 0; i < 1'000; ++i) {
    auto failures = static_cast<int>(random() % 20);
    auto part = static_cast<unsigned>(random() % 1000);
    for (auto what : {end::refused, end::superseded}) {
      auto wait = session_wait(outcome(what), failures, part);
      REQUIRE(wait >= milliseconds{60'000});
      REQUIRE(wait <= milliseconds{300'000});
    }
    for (auto what : {end::unreachable, end::going_away, end::overloaded,
                      end::protocol, end::untrusted}) {
      auto wait = session_wait(outcome(what), failures, part);
      REQUIRE(wait >= milliseconds{500});
      REQUIRE(wait <= milliseconds{300'000});
    }
  }
}

TEST_CASE("session: every close code and status means something") {
  for (int code = 0; code < 65'536; ++code)
    (void)end_of_close(static_cast<std::uint16_t>(code));
  CHECK(end_of_close(4403) == end::refused);
  CHECK(end_of_close(4409) == end::superseded);
  CHECK(end_of_close(1006) == end::lost);
  CHECK(end_of_close(1005) == end::lost);
  CHECK(end_of_close(1002) == end::protocol);
  CHECK(end_of_status(401) == end::refused);
  CHECK(end_of_status(403) == end::refused);
  CHECK(end_of_status(503) == end::overloaded);
  CHECK(end_of_status(429) == end::overloaded);
  CHECK(end_of_status(404) == end::protocol);
  CHECK(end_of_status(200) == end::protocol);
}

TEST_CASE("session: the welcome's time is the pinned key's, for our nonce") {
  auto key = pki::private_key::generate();
  bytes nonce(32, 7);
  auto text = std::to_string(to_millis(now));
  auto sig = pki::sign(key, pki::purpose::server_time, {as_bytes(text), nonce});
  wire::welcome w{"sess_1",
                  15,
                  key.pub().spki(),
                  {to_millis(now), {sig.begin(), sig.end()}}};
  std::vector<std::string> pin{key.pub().pin()};
  REQUIRE(check_welcome(w, pin, nonce));
  CHECK(check_welcome(w, pin, nonce).value() == now);
  auto old = pki::private_key::generate().pub().pin();
  CHECK_FALSE(check_welcome(w, {old}, nonce));
  CHECK_FALSE(check_welcome(w, {}, nonce));
  // While keys rotate: any of those that are trusted.
  CHECK(check_welcome(w, {old, pin[0]}, nonce));
  CHECK_FALSE(check_welcome(w, pin, bytes(32, 8)));
  CHECK_FALSE(check_welcome(w, pin, bytes(31, 7)));
  auto other = w;
  other.time.time_ms += 1;
  CHECK_FALSE(check_welcome(other, pin, nonce));
  other = w;
  other.time.signature.clear();
  CHECK_FALSE(check_welcome(other, pin, nonce));
}
