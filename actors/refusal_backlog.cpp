#include "actors/refusal_backlog.hpp"

#include <algorithm>
#include <iterator>

namespace bc::actors {

using events::refused_join;

void refusal_backlog::add(refused_join r) {
  auto at = waiting_.try_emplace({r.owner, r.reason}).first;
  auto& line = at->second;
  auto alike = std::find_if(line.rbegin(), line.rend(), [&r](const auto& w) {
    return w.csr_sha256 == r.csr_sha256 && w.token == r.token;
  });
  if (alike != line.rend()) {
    r.first_at = alike->first_at;
    r.times += alike->times;
    *alike = std::move(r);
    return;
  }
  line.push_back(std::move(r));
  ++size_;
  if (line.size() > most_of_a_kind)
    drop_oldest(at);
  else if (size_ > most)
    make_room();
}

void refusal_backlog::drop_oldest(queues::iterator of) {
  dropped_ += static_cast<std::uint64_t>(of->second.front().times);
  of->second.pop_front();
  --size_;
}

// Where most wait, the least is lost; nobody can make kinds at will.
void refusal_backlog::make_room() {
  drop_oldest(std::max_element(waiting_.begin(), waiting_.end(),
                               [](const auto& a, const auto& b) {
                                 return a.second.size() < b.second.size();
                               }));
}

std::vector<refused_join> refusal_backlog::take() {
  std::vector<refused_join> out;
  while (!waiting_.empty() && out.size() < most_in_batch) {
    auto at = waiting_.upper_bound(last_taken_);
    if (at == waiting_.end())
      at = waiting_.begin();
    auto& line = at->second;
    const auto n = std::min(line.size(), most_in_batch - out.size());
    const auto end = line.begin() + static_cast<std::ptrdiff_t>(n);
    out.insert(out.end(), std::make_move_iterator(line.begin()),
               std::make_move_iterator(end));
    line.erase(line.begin(), end);
    size_ -= n;
    last_taken_ = at->first;
    if (line.empty())
      waiting_.erase(at);
  }
  return out;
}

std::optional<refusal_backlog::batch> refusal_backlog::next(batch_id fresh) {
  if (under_way_)
    return std::nullopt;
  if (!sent_ && size_ > 0)
    sent_ = batch{std::move(fresh),
                  std::make_shared<const std::vector<refused_join>>(take())};
  under_way_ = sent_.has_value();
  return sent_;
}

void refusal_backlog::written() {
  sent_.reset();
  under_way_ = false;
}

void refusal_backlog::lost() {
  under_way_ = false;
}

void refusal_backlog::give_up() {
  for (const auto& r : *sent_->refused)
    dropped_ += static_cast<std::uint64_t>(r.times);
  written();
}

}  // namespace bc::actors
