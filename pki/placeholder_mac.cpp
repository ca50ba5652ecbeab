#include "base/encoding.hpp"
#include "pki/placeholders.hpp"
#include "pki/uuid_digits.hpp"

#include <algorithm>
#include <string>

namespace bc::pki {

namespace {

// Seen on many machines: adapters that software makes, dongles of one batch.
constexpr std::string_view shared[] = {
    "0001027d9b1c", "0008a1460635", "0008a166e21a", "000bcafe0000",
    "000fea9ae2f0", "00105a7271f3", "00111185088b", "00a0c6000000",
    "204153594eff", "24b620524153",
};

// Whole ranges of them: dial-up adapters, and VMware's on a host.
constexpr std::string_view shared_ranges[] = {"44455354", "005056c000"};

// Hexadecimal that reads as words.
constexpr std::string_view words[] = {"deadbeef", "cafebabe", "badcafe"};

// One value but for at most one byte.
bool is_nearly_constant(const mac_bytes& mac) {
  constexpr std::ptrdiff_t most_others = 1;
  return std::any_of(mac.begin(), mac.end(), [&](std::uint8_t value) {
    return std::ssize(mac) - std::count(mac.begin(), mac.end(), value) <=
           most_others;
  });
}

bool has_equal_steps(const mac_bytes& mac) {
  auto step = static_cast<std::uint8_t>(mac[1] - mac[0]);
  return std::adjacent_find(mac.begin(), mac.end(), [&](int a, int b) {
           return static_cast<std::uint8_t>(b - a) != step;
         }) == mac.end();
}

// 00:12:34:56:78:9a
bool counts(std::string_view hex) {
  constexpr std::size_t least = 9;
  auto digits = hex.substr(std::min(hex.find_first_not_of('0'), hex.size()));
  return digits.size() >= least && hex_counts(digits);
}

}  // namespace

bool is_placeholder_mac(const mac_bytes& mac) {
  auto hex = to_hex(mac);
  auto any = [](const auto& list, auto test) {
    return std::any_of(std::begin(list), std::end(list), test);
  };
  return is_nearly_constant(mac) || has_equal_steps(mac) || counts(hex) ||
         any(shared, [&](auto known) { return hex == known; }) ||
         any(shared_ranges,
             [&](auto start) { return hex.starts_with(start); }) ||
         any(words, [&](auto word) { return hex.find(word) != hex.npos; });
}

}  // namespace bc::pki
