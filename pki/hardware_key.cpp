#include "pki/hardware_key.hpp"

#include "base/encoding.hpp"
#include "pki/characters.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_text.hpp"
#include "pki/independence.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

template <class T>
bool is_among(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

void sort_unique(std::vector<std::string>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

result<shared_uuids> shared_uuids::parse(std::span<const std::string> texts) {
  shared_uuids out;
  for (const auto& text : texts) {
    auto uuid = parse_uuid(text);
    if (!uuid)
      return fail(errc::invalid_config, "'" + text + "' is no UUID");
    out.known_.push_back(*uuid);
  }
  return out;
}

bool shared_uuids::holds(const uuid_bytes& uuid) const {
  return is_among(known_, uuid) || is_among(known_, swap_uuid_fields(uuid));
}

hardware_claims without_shared(hardware_claims claims,
                               const shared_uuids& shared) {
  auto uuid = parse_uuid(claims.product_uuid);
  if (!uuid || !shared.holds(*uuid))
    return claims;
  claims.product_uuid.clear();
  for (auto* serial :
       {&claims.product_serial, &claims.board_serial, &claims.chassis_serial})
    if (prints_uuid(fold_serial(*serial), *uuid))
      serial->clear();
  return claims;
}

identifiers normalise(const hardware_claims& claims) {
  identifiers out;
  auto uuid = parse_uuid(claims.product_uuid);
  if (uuid && !is_placeholder_uuid(*uuid))
    out.product_uuid = uuid_text(*uuid);
  for (const auto* claim :
       {&claims.product_serial, &claims.board_serial, &claims.chassis_serial}) {
    auto serial = fold_serial(*claim);
    if (is_placeholder_serial(serial))
      continue;
    auto& list =
        uuid && prints_uuid(serial, *uuid) ? out.printed_uuids : out.serials;
    if (!is_among(list, serial))
      list.push_back(serial);
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

normalised_expectation normalise_expectation(const hardware_expectation& expect,
                                             const shared_uuids& shared) {
  normalised_expectation out;
  auto bad = [&out](std::string_view field) {
    if (!out.bad_field)
      out.bad_field = field;
  };
  if (expect.product_uuid) {
    auto uuid = parse_uuid(*expect.product_uuid);
    if (!uuid || is_placeholder_uuid(*uuid) || shared.holds(*uuid))
      bad("productUuid");
    out.value.product_uuid = uuid ? uuid_text(*uuid) : *expect.product_uuid;
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
    std::transform(out.value.mac->begin(), out.value.mac->end(),
                   out.value.mac->begin(), lower);
  }
  if (expect.gpu_uuid) {
    auto gpu = parse_gpu(*expect.gpu_uuid);
    if (!gpu)
      bad("gpuUuid");
    out.value.gpu_uuid = gpu ? *gpu : *expect.gpu_uuid;
  }
  return out;
}

bool matches(const hardware_expectation& expect, const identifiers& machine) {
  auto among = [](const std::vector<std::string>& list,
                  const std::optional<std::string>& wanted) {
    return !wanted || is_among(list, *wanted);
  };
  return (!expect.product_uuid ||
          expect.product_uuid == machine.product_uuid) &&
         (among(machine.serials, expect.serial) ||
          among(machine.printed_uuids, expect.serial)) &&
         among(machine.macs, expect.mac) &&
         among(machine.gpu_uuids, expect.gpu_uuid);
}

}  // namespace bc::pki
