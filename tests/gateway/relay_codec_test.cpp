// The relay's frames, read from a peer that may be hostile.
#include "gateway/relay_codec.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bc;
using namespace bc::gateway;

namespace {

std::vector<relay::message> samples() {
  return {
      relay::request{7, relay::kind_join, "req_1", "", R"({"a":1})"},
      relay::request{std::uint64_t(-1), relay::kind_renew,
                     std::string(relay::max_correlation, 'c'),
                     std::string(relay::max_certificate, '\0'),
                     std::string(relay::max_request_body, '\xff')},
      relay::request{},
      relay::answer{7, 200, "body"},
      relay::answer{0, 503, std::string(relay::max_answer_body, 'x')},
      relay::ping{1},
      relay::pong{std::uint64_t(1) << 63},
      relay::draining{},
      relay::watch{"gw_01k5w000000000000000000000"},
      relay::watch{std::string(relay::max_name, 'g')},
      relay::watching{},
      relay::notice{1, true, "node_01k5w000000000000000000000", "sess_1"},
      relay::notice{2, false, "n", ""},
  };
}

byte_view payload(const std::string& frame) {
  return as_bytes(frame).subspan(relay::length_bytes);
}

std::string with_length(std::uint32_t size, std::string_view rest) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>((size >> shift) & 0xff);
  return out.append(rest);
}

}  // namespace

TEST_CASE("relay_codec: what is encoded is decoded") {
  for (const auto& m : samples()) {
    auto frame = relay::encode(m);
    CHECK(frame.size() <= relay::length_bytes + relay::max_message);
    auto back = relay::decode(payload(frame));
    REQUIRE(back);
    CHECK(back.value() == m);
  }
}

TEST_CASE("relay_codec: the longest request fits the server's bound") {
  CHECK(relay::encode(samples()[1]).size() <=
        relay::length_bytes + relay::max_request);
}

TEST_CASE("relay_codec: every cut of a message and every byte after it fails") {
  for (const auto& m : samples()) {
    auto frame = relay::encode(m);
    auto whole = payload(frame);
    auto step = whole.size() > 1000 ? whole.size() / 97 : 1;
    for (std::size_t size = 0; size < whole.size(); size += step) {
      // A copy of that size, so that a read past it is seen by the sanitizers.
      bytes cut = to_bytes(whole.first(size));
      CHECK_FALSE(relay::decode(cut));
    }
    CHECK_FALSE(relay::decode(as_bytes(frame.substr(4) + "x")));
  }
}

TEST_CASE("relay_codec: a field over its bound fails, whatever it claims") {
  relay::request r;
  r.correlation = std::string(relay::max_correlation + 1, 'c');
  CHECK_FALSE(relay::fits(r));
  CHECK_FALSE(relay::decode(payload(relay::encode(r))));
  r = {};
  r.client_certificate = std::string(relay::max_certificate + 1, 'c');
  CHECK_FALSE(relay::fits(r));
  CHECK_FALSE(relay::decode(payload(relay::encode(r))));
  r = {};
  r.body = std::string(relay::max_request_body + 1, 'c');
  CHECK_FALSE(relay::fits(r));
  CHECK_FALSE(relay::decode(payload(relay::encode(r))));
  relay::answer a{1, 200, std::string(relay::max_answer_body + 1, 'c')};
  CHECK_FALSE(relay::fits(a));
  CHECK_FALSE(relay::decode(payload(relay::encode(a))));
  // A length of 4 GiB with nothing behind it.
  CHECK_FALSE(relay::decode(
      as_bytes(std::string("\x02\0\0\0\0\0\0\0\1\0\xc8\xff\xff\xff\xff", 15))));
}

TEST_CASE("relay_codec: a name over its bound fails") {
  std::string longer(relay::max_name + 1, 'n');
  CHECK_FALSE(relay::decode(payload(relay::encode(relay::watch{longer}))));
  relay::notice n{1, false, longer, ""};
  CHECK_FALSE(relay::fits(n));
  CHECK_FALSE(relay::decode(payload(relay::encode(n))));
  n = {1, false, "n", longer};
  CHECK_FALSE(relay::fits(n));
  CHECK_FALSE(relay::decode(payload(relay::encode(n))));
}

TEST_CASE("relay_codec: the bytes of a watch and of what it brings") {
  auto frame = [](const relay::message& m) { return relay::encode(m); };
  CHECK(frame(relay::watch{"gw_1"}) ==
        std::string("\0\0\0\x07\x06\0\x04gw_1", 11));
  CHECK(frame(relay::watching{}) == std::string("\0\0\0\x01\x07", 5));
  CHECK(frame(relay::notice{1, true, "n1", "s1"}) ==
        std::string("\0\0\0\x0b\x08\x01\x01\0\x02n1\0\x02s1", 15));
  // Neither yes nor no.
  CHECK_FALSE(
      relay::decode(as_bytes(std::string("\x08\x01\x02\0\x02n1\0\x02s1", 11))));
}

TEST_CASE("relay_codec: an answer's status is one of an HTTP answer") {
  for (int status : {0, 100, 199, 600, 65535})
    CHECK_FALSE(relay::decode(payload(relay::encode(
        relay::answer{1, static_cast<std::uint16_t>(status), ""}))));
}

TEST_CASE(
    "relay_codec: an unknown type fails, an unknown kind is the server's "
    "to refuse") {
  for (int type = 0; type < 256; ++type) {
    bytes one{static_cast<std::uint8_t>(type)};
    CHECK(relay::decode(one).has_value() == (type == 5 || type == 7));
  }
  auto m =
      relay::decode(payload(relay::encode(relay::request{1, 200, "", "", ""})));
  REQUIRE(m);
  CHECK(std::get<relay::request>(m.value()).kind == 200);
}

TEST_CASE("relay_codec: a stream is cut into messages however it arrives") {
  std::string all;
  for (const auto& m : samples())
    all += relay::encode(m);
  auto step = GENERATE(as<std::size_t>{}, 1, 3, 4, 5, 1000, 1'000'000);
  if (step < 3)
    all.resize(50'000);  // byte by byte is slow
  relay::frame_reader reader;
  std::vector<relay::message> got;
  for (std::size_t at = 0; at < all.size(); at += step) {
    reader.take(as_bytes(all).subspan(at, std::min(step, all.size() - at)));
    while (true) {
      auto next = reader.next();
      REQUIRE(next);
      if (!next.value())
        break;
      got.push_back(*next.value());
    }
  }
  auto expected = samples();
  if (step < 3)
    expected.resize(1);
  CHECK(got == expected);
}

TEST_CASE("relay_codec: a length out of bounds is refused before its bytes") {
  auto size = GENERATE(as<std::uint32_t>{}, 0, relay::max_message + 1,
                       0x80000000, 0xffffffff);
  relay::frame_reader reader;
  reader.take(as_bytes(with_length(size, "")));
  CHECK_FALSE(reader.next());
  // And from then on.
  reader.take(as_bytes(relay::encode(relay::ping{1})));
  CHECK_FALSE(reader.next());
}

TEST_CASE("relay_codec: messages before the bad one are still read") {
  relay::frame_reader reader;
  reader.take(as_bytes(relay::encode(relay::ping{1}) + with_length(1, "\x63")));
  auto first = reader.next();
  REQUIRE(first);
  CHECK(first.value() == relay::message{relay::ping{1}});
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.next());
}

TEST_CASE("relay_codec: damaged streams end in an error or in waiting") {
  std::mt19937 random{42};
  auto below = [&](std::size_t n) { return random() % n; };
  std::string all;
  for (const auto& m : samples())
    if (auto frame = relay::encode(m); frame.size() < 1000)
      all += frame;
  for (int i = 0; i < 20'000; ++i) {
    auto bad = all;
    for (auto n = below(4) + 1; n > 0; --n)
      bad[below(bad.size())] = static_cast<char>(below(256));
    relay::frame_reader reader{1000};
    reader.take(as_bytes(bad));
    std::size_t seen = 0;
    while (true) {
      auto next = reader.next();
      if (!next || !next.value())
        break;
      // What was read can be written again.
      REQUIRE(relay::decode(payload(relay::encode(*next.value()))));
      REQUIRE(++seen <= all.size());
    }
  }
}
