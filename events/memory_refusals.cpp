#include "events/memory_refusals.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace bc::events::detail {

namespace {

auto age_of(const refused_join& r) {
  return std::tie(r.last_at, r.csr_sha256, r.token);
}

}  // namespace

void memory_refusals::put(const batch_id& id,
                          std::span<const refused_join> refused) {
  std::set<group_key> grown;
  for (const auto& r : refused) {
    group_key key{r.owner, r.reason};
    auto [at, is_new] = groups_[key].try_emplace({r.csr_sha256, r.token});
    auto& known = at->second;
    if (is_new) {
      known = {r, id};
    } else if (known.batch != id) {
      auto merged = r;
      merged.first_at = known.refused.first_at;
      merged.times += known.refused.times;
      known = {std::move(merged), id};
    }
    grown.insert(std::move(key));
  }
  for (const auto& key : grown)
    drop_old(groups_[key]);
}

void memory_refusals::drop_old(group& rows) {
  while (rows.size() > refusals_kept)
    rows.erase(std::min_element(
        rows.begin(), rows.end(), [](const auto& a, const auto& b) {
          return age_of(a.second.refused) < age_of(b.second.refused);
        }));
}

std::vector<refused_join> memory_refusals::of(std::string_view owner,
                                              std::string_view csr_sha256,
                                              std::size_t limit) const {
  std::vector<refused_join> out;
  for (const auto& [key, rows] : groups_)
    if (key.first == owner)
      for (const auto& [row_key, row] : rows)
        if (row_key.first.starts_with(csr_sha256))
          out.push_back(row.refused);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(b.last_at, a.reason, a.token) <
           std::tie(a.last_at, b.reason, b.token);
  });
  if (out.size() > limit)
    out.resize(limit);
  return out;
}

}  // namespace bc::events::detail
