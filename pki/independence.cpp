#include "pki/independence.hpp"

#include "base/encoding.hpp"
#include "pki/characters.hpp"
#include "pki/hardware_text.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace bc::pki {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string hex_of(byte_view data) {
  return alphanumerics(to_hex(data));
}

using both_orders = std::array<uuid_bytes, 2>;

both_orders orders_of(const uuid_bytes& uuid) {
  return {uuid, swap_uuid_fields(uuid)};
}

template <class Items, class Test>
bool any(const Items& items, Test test) {
  return std::any_of(items.begin(), items.end(), test);
}
template <class Items, class Test>
bool all(const Items& items, Test test) {
  return std::all_of(items.begin(), items.end(), test);
}

// As characters (HP writes the serial at the end), or as digits.
bool uuid_holds_serial(const both_orders& uuid, std::string_view serial) {
  constexpr std::size_t least_characters = 8;
  constexpr std::size_t least_digits = 10;
  auto wanted = alphanumerics(serial);
  return any(uuid, [&](const uuid_bytes& order) {
    auto characters = alphanumerics(as_text(order));
    return (wanted.size() >= least_characters &&
            contains(characters, wanted)) ||
           (wanted.size() >= least_digits && contains(hex_of(order), wanted));
  });
}

// Whole (Supermicro, at the end), or between other numbers (Gigabyte).
bool uuid_holds_mac(const both_orders& uuid, const mac_bytes& mac) {
  return any(uuid, [&](const uuid_bytes& order) {
    return std::search(order.begin(), order.end(), mac.begin(), mac.end()) !=
               order.end() ||
           interleaved_mac(order) == mac;
  });
}

enum kind { uuid_kind, serial_kind, mac_kind, gpu_kind };

// Which kinds are one fact; each begins as its own.
class facts {
 public:
  facts() { std::iota(group_.begin(), group_.end(), 0); }

  void join(kind a, kind b) {
    std::replace(group_.begin(), group_.end(), group_[b], int{group_[a]});
  }

  int count(const std::array<bool, 4>& present) const {
    std::array<bool, 4> counted{};
    for (std::size_t k = 0; k < group_.size(); ++k)
      if (present[k])
        counted[static_cast<std::size_t>(group_[k])] = true;
    return static_cast<int>(std::count(counted.begin(), counted.end(), true));
  }

 private:
  std::array<int, 4> group_{};
};

}  // namespace

bool prints_uuid(std::string_view serial, const uuid_bytes& uuid) {
  auto printed = alphanumerics(serial);
  return any(orders_of(uuid), [&](const uuid_bytes& order) {
    return contains(printed, hex_of(order));
  });
}

int independent_kinds(const identifiers& ids) {
  facts known;
  // Serials are one kind together: one that stands alone is enough.
  auto all_serials = [&](auto test) {
    return !ids.serials.empty() && all(ids.serials, test);
  };
  auto uuid = ids.product_uuid ? parse_uuid(*ids.product_uuid) : std::nullopt;
  if (uuid) {
    auto orders = orders_of(*uuid);
    if (any(ids.macs, [&](const auto& text) {
          auto mac = mac_bytes_of(text);
          return mac && uuid_holds_mac(orders, *mac);
        }))
      known.join(uuid_kind, mac_kind);
    if (all_serials(
            [&](const auto& s) { return uuid_holds_serial(orders, s); }))
      known.join(uuid_kind, serial_kind);
  }
  if (all_serials([&](const auto& serial) {
        auto printed = alphanumerics(serial);
        return any(ids.macs, [&](const auto& mac) {
          return contains(printed, alphanumerics(mac));
        });
      }))
    known.join(serial_kind, mac_kind);
  return known.count({uuid.has_value(), !ids.serials.empty(), !ids.macs.empty(),
                      !ids.gpu_uuids.empty()});
}

}  // namespace bc::pki
