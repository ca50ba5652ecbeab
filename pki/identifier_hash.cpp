#include "pki/identifier_hash.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

#include <set>
#include <string_view>

namespace bc::pki {

namespace {

constexpr std::string_view product_uuid = "productUuid", serial = "serial",
                           mac = "mac", gpu_uuid = "gpuUuid";

// A serial that moved from the board to the product is no other one.
std::set<std::string_view> of_kind(const std::vector<identifier_hash>& all,
                                   std::string_view kind) {
  std::set<std::string_view> out;
  for (const auto& one : all)
    if (one.kind == kind)
      out.insert(one.sha256);
  return out;
}

}  // namespace

std::vector<identifier_hash> hashes_of(const identifiers& ids) {
  std::vector<identifier_hash> out;
  auto add = [&out](std::string_view kind, const std::string& text) {
    out.push_back({std::string{kind}, to_hex(sha256(as_bytes(text)))});
  };
  if (ids.product_uuid)
    add(product_uuid, *ids.product_uuid);
  for (const auto& text : ids.serials)
    add(serial, text);
  for (const auto& text : ids.macs)
    add(mac, text);
  for (const auto& text : ids.gpu_uuids)
    add(gpu_uuid, text);
  return out;
}

std::vector<std::string> changed_kinds(
    const std::vector<identifier_hash>& before,
    const std::vector<identifier_hash>& now) {
  std::vector<std::string> out;
  for (auto kind : {product_uuid, serial, mac, gpu_uuid})
    if (of_kind(before, kind) != of_kind(now, kind))
      out.emplace_back(kind);
  return out;
}

}  // namespace bc::pki
