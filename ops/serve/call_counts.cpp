#include "ops/serve/call_counts.hpp"

namespace bc::serve {

namespace {

struct outcome {
  int status;
  std::string_view name;
};
// The first has a name of its own, the last is every other status.
constexpr std::array<outcome, 6> outcomes = {{{200, ""},
                                              {202, "deferred"},
                                              {400, "invalid"},
                                              {403, "refused"},
                                              {409, "conflict"},
                                              {0, "failed"}}};

}  // namespace

void call_counts::count(int http_status) {
  std::size_t at = 0;
  while (at + 1 < outcomes.size() && outcomes[at].status != http_status)
    ++at;
  counts_[at].fetch_add(1, std::memory_order_relaxed);
}

void call_counts::each(
    const std::function<void(std::string_view, std::uint64_t)>& f) const {
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    f(i == 0 ? done_ : outcomes[i].name,
      counts_[i].load(std::memory_order_relaxed));
}

}  // namespace bc::serve
