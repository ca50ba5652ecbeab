#include "pki/hardware_key.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_text.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace bc::pki {

namespace {

std::string alphanumerics(std::string_view text) {
  std::string out;
  for (char c : text)
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'))
      out += c;
    else if (c >= 'a' && c <= 'z')
      out += static_cast<char>(c - 'a' + 'A');
  return out;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A serial that prints the UUID's bytes (hypervisors do) is no second fact.
bool prints_uuid(std::string_view serial, const uuid_bytes& uuid) {
  auto digits = alphanumerics(serial);
  return contains(digits, alphanumerics(to_hex(uuid))) ||
         contains(digits, alphanumerics(to_hex(swap_uuid_fields(uuid))));
}

// HP writes the serial's characters into the UUID's last ten bytes.
bool uuid_spells(const uuid_bytes& uuid, std::string_view serial) {
  std::string tail{uuid.begin() + 6, uuid.end()};
  auto swapped = swap_uuid_fields(uuid);
  std::string other{swapped.begin() + 6, swapped.end()};
  auto spelled = [&](std::string_view t) {
    return serial.size() >= 8 && contains(alphanumerics(t), serial);
  };
  return spelled(tail) || spelled(other);
}

std::string mac_hex(std::string_view mac) {
  return alphanumerics(mac);
}

// Supermicro ends the UUID with a MAC; Gigabyte's even bytes spell one, with
// 02 to 07 between them (CASES 39, appendix A7).
bool uuid_holds(const uuid_bytes& uuid, std::string_view mac) {
  auto wanted = mac_hex(mac);
  if (alphanumerics(to_hex(byte_view{uuid}.last(6))) == wanted)
    return true;
  for (const auto& order : {uuid, swap_uuid_fields(uuid)}) {
    bytes even;
    bool pattern = true;
    for (std::size_t i = 0; i < 12; i += 2) {
      even.push_back(order[i]);
      pattern = pattern && order[i + 1] == i / 2 + 2;
    }
    if (pattern && alphanumerics(to_hex(even)) == wanted)
      return true;
  }
  return false;
}

template <class Items, class Test>
bool any(const Items& items, Test test) {
  return std::any_of(items.begin(), items.end(), test);
}
template <class Items, class Test>
bool all(const Items& items, Test test) {
  return std::all_of(items.begin(), items.end(), test);
}

// How many independent facts there are: kinds, joined where one is derived
// from the other.
int independent_kinds(const identifiers& ids) {
  enum kind { uuid, serial, mac, gpu };
  std::array<int, 4> group{};
  std::iota(group.begin(), group.end(), 0);
  auto join = [&group](kind a, kind b) {
    int from = group[b], to = group[a];
    std::replace(group.begin(), group.end(), from, to);
  };
  auto parsed = ids.product_uuid ? parse_uuid(*ids.product_uuid)
                                 : std::optional<uuid_bytes>{};
  if (parsed &&
      any(ids.macs, [&](const auto& m) { return uuid_holds(*parsed, m); }))
    join(uuid, mac);
  if (parsed && !ids.serials.empty() &&
      all(ids.serials, [&](const auto& s) { return uuid_spells(*parsed, s); }))
    join(uuid, serial);
  if (!ids.serials.empty() && all(ids.serials, [&](const auto& s) {
        return any(ids.macs, [&](const auto& m) {
          return contains(alphanumerics(s), mac_hex(m));
        });
      }))
    join(serial, mac);
  std::array<bool, 4> present = {parsed.has_value(), !ids.serials.empty(),
                                 !ids.macs.empty(), !ids.gpu_uuids.empty()};
  std::array<bool, 4> counted{};
  for (std::size_t k = 0; k < group.size(); ++k)
    if (present[k])
      counted[static_cast<std::size_t>(group[k])] = true;
  return static_cast<int>(std::count(counted.begin(), counted.end(), true));
}

void sort_unique(std::vector<std::string>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

identifiers normalise(const hardware_claims& claims) {
  identifiers out;
  auto uuid = parse_uuid(claims.product_uuid);
  if (uuid && !is_placeholder_uuid(*uuid))
    out.product_uuid = uuid_text(*uuid);
  for (const auto* claim :
       {&claims.product_serial, &claims.board_serial, &claims.chassis_serial}) {
    auto serial = fold_serial(*claim);
    bool printed = uuid && prints_uuid(serial, *uuid);
    if (!printed && !is_placeholder_serial(serial))
      out.serials.push_back(serial);
  }
  for (const auto& claim : claims.macs)
    if (auto mac = parse_mac(claim))
      out.macs.push_back(*mac);
  for (const auto& claim : claims.gpu_uuids)
    if (auto gpu = parse_gpu(claim))
      out.gpu_uuids.push_back(*gpu);
  sort_unique(out.macs);
  sort_unique(out.gpu_uuids);
  return out;
}

hardware_key derive_hardware_key(const identifiers& ids) {
  std::string text = "better-compute/hardware-key/v1\n";
  int picked = 0;
  auto pick = [&](std::string_view kind, const std::string& value) {
    text.append(kind).append("=").append(value).append("\n");
    ++picked;
  };
  if (ids.product_uuid)
    pick("uuid", *ids.product_uuid);
  if (!ids.serials.empty())
    pick("serial", ids.serials.front());
  hardware_key out;
  out.only_components = picked == 0;
  // Parts fill up to two: they are swapped more often than what stays.
  if (picked < 2 && !ids.macs.empty())
    pick("mac", ids.macs.front());
  if (picked < 2 && !ids.gpu_uuids.empty())
    pick("gpu", ids.gpu_uuids.front());
  if (picked > 0)
    out.hex = to_hex(sha256(as_bytes(text)));
  out.trusted = independent_kinds(ids) >= 2;
  return out;
}

normalised_expectation normalise_expectation(
    const hardware_expectation& expect) {
  normalised_expectation out;
  auto bad = [&out](std::string_view field) {
    if (!out.bad_field)
      out.bad_field = field;
  };
  if (expect.product_uuid) {
    auto uuid = parse_uuid(*expect.product_uuid);
    if (!uuid || is_placeholder_uuid(*uuid))
      bad("productUuid");
    else
      out.value.product_uuid = uuid_text(*uuid);
  }
  if (expect.serial) {
    out.value.serial = fold_serial(*expect.serial);
    if (is_placeholder_serial(*out.value.serial))
      bad("serial");
  }
  if (expect.mac) {
    // An address that is no NIC's own is a well-formed wish that no machine
    // fulfils (CASES 55, 60), not a bad input.
    auto mac = parse_mac(*expect.mac);
    out.value.mac = mac ? *mac : *expect.mac;
    std::transform(
        out.value.mac->begin(), out.value.mac->end(), out.value.mac->begin(),
        [](char c) {
          return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
        });
  }
  if (expect.gpu_uuid) {
    auto gpu = parse_gpu(*expect.gpu_uuid);
    if (!gpu)
      bad("gpuUuid");
    else
      out.value.gpu_uuid = *gpu;
  }
  return out;
}

bool matches(const hardware_expectation& expect,
             const hardware_claims& claims) {
  auto ids = normalise(claims);
  auto among = [](const std::vector<std::string>& list,
                  const std::optional<std::string>& wanted) {
    return !wanted ||
           std::find(list.begin(), list.end(), *wanted) != list.end();
  };
  return (!expect.product_uuid || expect.product_uuid == ids.product_uuid) &&
         among(ids.serials, expect.serial) && among(ids.macs, expect.mac) &&
         among(ids.gpu_uuids, expect.gpu_uuid);
}

}  // namespace bc::pki
