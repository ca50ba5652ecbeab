#include "daemon/tpm/ek_candidates.hpp"

#include <algorithm>
#include <iterator>

namespace bc::daemon::tpm {

using namespace pki::tpm;

namespace {

// In front of the zeros that our template has in its place (TCG EK Credential
// Profile, section B.3). nullopt when it does not fit, or there is no place.
std::optional<public_area> with_nonce(public_area area, const bytes& nonce) {
  bytes* place = nullptr;
  if (auto* rsa = std::get_if<rsa_parameters>(&area.parameters))
    place = &rsa->modulus;
  else if (auto* ecc = std::get_if<ecc_parameters>(&area.parameters))
    place = &ecc->x;
  if (place == nullptr || nonce.empty() || nonce.size() > place->size())
    return std::nullopt;
  std::ranges::copy(nonce, place->begin());
  return area;
}

}  // namespace

std::vector<ek_candidate> candidates_of(const ek_kind& kind,
                                        const ek_store& store) {
  std::vector<ek_candidate> out, nonces;
  std::string name{kind.name};
  for (auto index : {kind.template_index, kind.nonce_index}) {
    auto hint = store.hints.find(index);
    if (hint == store.hints.end())
      continue;
    if (auto area = parse_public(hint->second))
      out.push_back({name + "-nv", std::move(area)});
    else if (auto made = with_nonce(*ek_template(name), hint->second))
      nonces.push_back({name + "-nonce", std::move(made)});
  }
  std::ranges::move(nonces, std::back_inserter(out));
  out.push_back({name, ek_template(name)});
  if (auto high = ek_template(name + "-high"))
    out.push_back({name + "-high", std::move(high)});
  if (store.has_persistent)
    out.push_back({name + "-persistent", std::nullopt});
  return out;
}

std::vector<ek_candidate> candidates_named(std::string_view name,
                                           const ek_store& store) {
  // A high range's own name is also its low range's second candidate.
  for (const auto& kind : ek_kinds) {
    auto out = candidates_of(kind, store);
    std::erase_if(out, [&](const auto& one) { return one.name != name; });
    if (!out.empty())
      return out;
  }
  return {};
}

}  // namespace bc::daemon::tpm
