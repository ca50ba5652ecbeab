// spec: ATTESTATION section 5; CASES 33, 39, 57, 62. What holds for any claims.
#include "base/encoding.hpp"
#include "pki/hardware_text.hpp"
#include "tests/pki/hardware_support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

using namespace bc::pki;
using namespace bc::pki::testing;

namespace {

constexpr int rounds = 4000;

// Claims of every kind: real shapes, placeholders, damaged ones, noise, and
// values made of one another.
class claims_maker {
 public:
  hardware_claims next() {
    hardware_claims c;
    c.product_uuid = uuid();
    for (auto n = below(4); n > 0; --n)
      c.macs.push_back(mac());
    for (auto n = below(3); n > 0; --n)
      c.gpu_uuids.push_back(gpu());
    for (auto* serial : {&c.product_serial, &c.board_serial, &c.chassis_serial})
      *serial = serial_of(c);
    if (one_in(4) && !c.macs.empty())
      c.product_uuid = "00000000-0000-0000-0000-" + digits_of(c.macs.front());
    return c;
  }

  std::mt19937& source() { return random_; }

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string hex(std::size_t size) {
    std::string out;
    for (; size > 0; --size)
      out += "0123456789abcdef"[below(16)];
    return out;
  }
  std::string noise() {
    std::string out;
    for (auto n = below(24); n > 0; --n)
      out += static_cast<char>(below(256));
    return out;
  }
  const std::string& any_of(const std::vector<std::string>& list) {
    return list[below(list.size())];
  }
  std::string damaged(std::string text) {
    if (!text.empty() && one_in(6))
      text[below(text.size())] = static_cast<char>(below(256));
    if (one_in(6))
      text.insert(below(text.size() + 1), one_in(2) ? " " : "\u200b");
    return text;
  }
  static std::string digits_of(const std::string& mac) {
    std::string out;
    for (char c : mac)
      if (c != ':' && c != '-')
        out += c;
    return out;
  }

  std::string uuid() {
    switch (below(5)) {
      case 0:
        return {};
      case 1:
        return noise();
      case 2:
        return damaged("00000000-0000-0000-0000-000000000000");
      default: {
        auto h = hex(32);
        for (std::size_t at : {20UL, 16UL, 12UL, 8UL})
          h.insert(at, "-");
        return damaged(h);
      }
    }
  }
  std::string mac() {
    switch (below(5)) {
      case 0:
        return noise();
      case 1:
        return "00:00:00:00:00:00";
      default: {
        auto h = "3cec" + hex(8);
        for (std::size_t at : {10UL, 8UL, 6UL, 4UL, 2UL})
          h.insert(at, one_in(2) ? "-" : ":");
        return damaged(h);
      }
    }
  }
  std::string gpu() {
    return one_in(3) ? noise() : damaged("GPU-" + hex(8) + "-" + hex(8));
  }
  std::string serial_of(const hardware_claims& c) {
    switch (below(7)) {
      case 0:
        return {};
      case 1:
        return noise();
      case 2:
        return damaged(any_of(placeholders_));
      case 3:
        return "VMware-" + c.product_uuid;
      case 4:
        return c.macs.empty() ? "" : "S" + digits_of(c.macs.front());
      default:
        return damaged(any_of(real_));
    }
  }

  std::mt19937 random_{20'241'130};
  std::vector<std::string> real_ = lines_of("real_serials.txt");
  std::vector<std::string> placeholders_ = lines_of("placeholder_members.txt");
};

bool all_text(const identifiers& ids) {
  auto texts = ids.serials;
  texts.insert(texts.end(), ids.macs.begin(), ids.macs.end());
  texts.insert(texts.end(), ids.gpu_uuids.begin(), ids.gpu_uuids.end());
  texts.push_back(ids.product_uuid.value_or(""));
  return std::all_of(texts.begin(), texts.end(),
                     [](const auto& t) { return bc::is_utf8(t); });
}

int kinds(const identifiers& ids) {
  return (ids.product_uuid ? 1 : 0) + (ids.serials.empty() ? 0 : 1) +
         (ids.macs.empty() ? 0 : 1) + (ids.gpu_uuids.empty() ? 0 : 1);
}

}  // namespace

TEST_CASE("hardware: what is left, claimed again, leaves the same") {
  claims_maker maker;
  int trusted = 0;
  for (int i = 0; i < rounds; ++i) {
    auto c = maker.next();
    auto once = normalise(c);
    auto twice = normalise(as_claims(once));
    // Serials that were the UUID again are not among the claims.
    once.printed_uuids.clear();
    CHECK(twice == once);
    CHECK(all_text(once));
    trusted += derive_hardware_key(once).trusted ? 1 : 0;
  }
  // The claims were neither all good nor all bad.
  CHECK(trusted > rounds / 10);
  CHECK(trusted < rounds * 9 / 10);
}

TEST_CASE(
    "hardware: the order of parts, and a part twice, change nothing "
    "(case 57)") {
  claims_maker maker;
  for (int i = 0; i < rounds; ++i) {
    auto c = maker.next();
    auto other = c;
    std::shuffle(other.macs.begin(), other.macs.end(), maker.source());
    std::shuffle(other.gpu_uuids.begin(), other.gpu_uuids.end(),
                 maker.source());
    if (!other.macs.empty())
      other.macs.push_back(other.macs.front());
    other.hostname = "another";
    CHECK(normalise(other) == normalise(c));
    CHECK(key_of(other).hex == key_of(c).hex);
    CHECK(key_of(other).trusted == key_of(c).trusted);
  }
}

TEST_CASE("hardware: a trusted key rests on two kinds at least") {
  claims_maker maker;
  for (int i = 0; i < rounds; ++i) {
    auto ids = normalise(maker.next());
    auto key = derive_hardware_key(ids);
    if (key.trusted)
      CHECK(kinds(ids) >= 2);
    CHECK(key.hex.empty() == (kinds(ids) == 0));
    CHECK((key.hex.empty() || key.hex.size() == 64));
    CHECK(key.only_components == (!ids.product_uuid && ids.serials.empty()));
  }
}

TEST_CASE("hardware: with a UUID and a serial no part decides (case 62)") {
  claims_maker maker;
  int seen = 0;
  for (int i = 0; i < rounds; ++i) {
    auto c = maker.next();
    auto ids = normalise(c);
    if (!ids.product_uuid || ids.serials.empty())
      continue;
    ++seen;
    auto bare = c;
    bare.macs.clear();
    bare.gpu_uuids.clear();
    CHECK(key_of(bare).hex == key_of(c).hex);
  }
  CHECK(seen > 100);
}

TEST_CASE("hardware: one identifier of two changed is another key (case 46)") {
  claims_maker maker;
  for (int i = 0; i < rounds; ++i) {
    auto one = normalise(maker.next());
    auto other = normalise(maker.next());
    if (one.product_uuid && other.product_uuid &&
        one.product_uuid != other.product_uuid)
      CHECK(derive_hardware_key(one).hex != derive_hardware_key(other).hex);
    if (!one.serials.empty() && !other.serials.empty() &&
        one.serials.front() != other.serials.front())
      CHECK(derive_hardware_key(one).hex != derive_hardware_key(other).hex);
  }
}

TEST_CASE("hardware: a serial is folded once and for all") {
  claims_maker maker;
  for (int i = 0; i < rounds; ++i) {
    auto folded = fold_serial(maker.next().product_serial);
    CHECK(fold_serial(folded) == folded);
  }
}

TEST_CASE(
    "hardware: blanks and marks that cannot be seen do not change a key "
    "(case 32)") {
  auto plain = claims("", "USE2200001 A", {"3c:ec:ef:00:00:01"});
  for (const char* serial :
       {"\u00a0USE2200001\u2003A\u3000", "USE22\u200b00001 A",
        "\ufeffuse2200001 \u00a0 a", "\u202aUSE2200001\u202f\u2800A\u202c",
        "\uff35\uff33\uff25\uff12200001 A", "USE2200001\u1680\u2028A",
        "USE22\u00ad00001 A"}) {
    INFO(serial);
    CHECK(key_of(claims("", serial, plain.macs)).hex == key_of(plain).hex);
  }
  CHECK(fold_serial("SN\u201177\u201301") == "SN-77-01");
}
