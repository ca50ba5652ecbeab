#include "actors/joining/refusal_details.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <utility>

namespace bc::actors {

namespace {

// A machine may name 64 MACs and 64 GPUs; the index must stay small.
constexpr std::size_t most_of_a_kind = 16;
constexpr std::size_t most_text = 512;

std::string shortened(const std::string& text) {
  if (text.size() <= most_text)
    return text;
  std::string_view cut{text.data(), most_text};
  while (!is_utf8(cut))
    cut.remove_suffix(1);
  return std::string{cut} + "…";
}

std::vector<std::string> first_of(std::vector<std::string> all) {
  all.resize(std::min(all.size(), most_of_a_kind));
  return all;
}

void put_identifiers(json::writer& out, const pki::hardware_claims& claims) {
  const auto ids = pki::normalise(claims);
  out.key("identifiers").begin_object();
  out.field("productUuid", ids.product_uuid)
      .field("serials", first_of(ids.serials))
      .field("macs", first_of(ids.macs))
      .field("gpuUuids", first_of(ids.gpu_uuids));
  out.end_object();
}

}  // namespace

std::string refusal_details(const refused_attempt& a) {
  json::writer out;
  out.begin_object();
  if (a.pool)
    out.field("poolId", a.pool->str());
  if (!a.request.site_id.empty())
    out.field("claimedSiteId", shortened(a.request.site_id));
  if (!a.hardware.hex.empty())
    out.field("hardwareKey", a.hardware.hex);
  if (a.compared) {
    if (!a.compared->expected.empty())
      out.field("expected", shortened(a.compared->expected));
    if (!a.compared->presented.empty())
      out.field("presented", shortened(a.compared->presented));
  }
  put_identifiers(out, a.claims);
  return out.end_object().str();
}

pki::identifiers identifiers_in(const std::string& details) {
  pki::identifiers out;
  auto document = json::parse_object(details);
  if (!document)
    return out;
  auto ids = json::reader{document.value()}.object("identifiers");
  if (!ids)
    return out;
  if (auto uuid = ids.value().optional_text("productUuid"))
    out.product_uuid = uuid.value();
  if (auto serials = ids.value().texts_or_none("serials"))
    out.serials = serials.value();
  if (auto macs = ids.value().texts_or_none("macs"))
    out.macs = macs.value();
  if (auto gpus = ids.value().texts_or_none("gpuUuids"))
    out.gpu_uuids = gpus.value();
  return out;
}

}  // namespace bc::actors
