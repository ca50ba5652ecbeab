#include "events/memory_ledger.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::detail {

namespace {

template <class Map>
std::optional<typename Map::mapped_type> find(const Map& table,
                                              std::string_view key) {
  auto i = table.find(key);
  if (i == table.end())
    return std::nullopt;
  return i->second;
}

template <class Map>
void put(Map& table, const std::string& key,
         const std::optional<typename Map::mapped_type>& row) {
  if (row)
    table.insert_or_assign(key, *row);
  else
    table.erase(key);
}

}  // namespace

memory_ledger::memory_ledger(incarnation_id incarnation) {
  head_.row.incarnation = std::move(incarnation);
}

void memory_ledger::roll_back() {
  for (auto i = undo_.rbegin(); i != undo_.rend(); ++i)
    (*i)();
  undo_.clear();
}

template <class Map>
void memory_ledger::set(Map& table, std::string_view key,
                        std::optional<typename Map::mapped_type> row) {
  std::string name{key};
  undo_.emplace_back(
      [&table, name, old = find(table, key)] { put(table, name, old); });
  put(table, name, row);
}

result<std::vector<envelope>> memory_ledger::events_after(
    std::uint64_t position, std::size_t limit) {
  std::vector<envelope> out;
  for (auto i = position; i < events_.size() && out.size() < limit; ++i)
    out.push_back(events_[i]);
  return out;
}

result<std::vector<envelope>> memory_ledger::stream_after(
    std::string_view stream, std::uint64_t version, std::size_t limit) {
  std::vector<envelope> out;
  auto i = streams_.find(stream);
  if (i == streams_.end())
    return out;
  for (auto v = version; v < i->second.size() && out.size() < limit; ++v)
    out.push_back(events_[i->second[v]]);
  return out;
}

result<std::uint64_t> memory_ledger::stream_version(std::string_view stream) {
  auto i = streams_.find(stream);
  return i == streams_.end() ? 0 : i->second.size();
}

result<std::optional<batch_row>> memory_ledger::find_batch(
    std::string_view batch) {
  return find(batches_, batch);
}

result<std::vector<commit_row>> memory_ledger::commits_after(
    std::uint64_t commit, std::size_t limit) {
  std::vector<commit_row> out;
  for (auto i = commit; i < commits_.size() && out.size() < limit; ++i)
    out.push_back(commits_[i]);
  return out;
}

result<std::optional<claim_holder>> memory_ledger::find_claim(
    std::string_view claim) {
  return find(claims_, claim);
}

result<std::optional<budget_row>> memory_ledger::find_budget(
    std::string_view budget) {
  return find(budgets_, budget);
}

result<limiter_row> memory_ledger::limiter(std::string_view stream,
                                           std::size_t newest) {
  auto state = find(limiters_, stream).value_or(limiter_state{});
  limiter_row row{state.version, state.dropped, {}};
  if (auto i = streams_.find(stream); i != streams_.end())
    for (auto e = i->second.rbegin();
         e != i->second.rend() && row.recent.size() < newest; ++e)
      row.recent.push_back(events_[*e].time);
  return row;
}

result<void> memory_ledger::add_event(const envelope& e) {
  events_.push_back(e);
  streams_[e.stream].push_back(events_.size() - 1);
  undo_.emplace_back([this, stream = e.stream] {
    streams_[stream].pop_back();
    events_.pop_back();
  });
  return ok();
}

result<void> memory_ledger::add_batch(const batch_row& row) {
  set(batches_, row.batch, row);
  return ok();
}

result<void> memory_ledger::add_commit(const commit_row& row) {
  commits_.push_back(row);
  undo_.emplace_back([this] { commits_.pop_back(); });
  return ok();
}

result<void> memory_ledger::set_head(const head_state& head) {
  undo_.emplace_back([this, old = head_] { head_ = old; });
  head_ = head;
  return ok();
}

result<void> memory_ledger::set_claim(
    std::string_view claim, const std::optional<claim_holder>& holder) {
  set(claims_, claim, holder);
  return ok();
}

result<void> memory_ledger::purge_claims(time_point before, std::size_t most) {
  std::vector<std::string> old;
  for (const auto& [claim, holder] : claims_)
    if (old.size() < most && holder.expires_at && *holder.expires_at < before)
      old.push_back(claim);
  for (const auto& claim : old)
    set(claims_, claim, {});
  return ok();
}

result<void> memory_ledger::set_budget(std::string_view budget,
                                       const budget_row& row) {
  set(budgets_, budget, row);
  return ok();
}

result<void> memory_ledger::set_limiter(std::string_view stream,
                                        std::uint64_t version,
                                        std::uint64_t dropped) {
  set(limiters_, stream, limiter_state{version, dropped});
  return ok();
}

std::optional<snapshot> memory_ledger::find_snapshot(
    std::string_view stream) const {
  auto i = snapshots_.find(std::string{stream});
  return i == snapshots_.end() ? std::nullopt : std::optional{i->second};
}

void memory_ledger::set_snapshot(std::string_view stream, const snapshot& s) {
  snapshots_.insert_or_assign(std::string{stream}, s);
}

result<std::vector<checkpoint>> memory_ledger::checkpoints_after(
    std::uint64_t position, std::size_t limit) {
  std::vector<checkpoint> out;
  for (const auto& c : checkpoints_)
    if (c.position > position && out.size() < limit)
      out.push_back(c);
  return out;
}

void memory_ledger::add_checkpoint(const checkpoint& c) {
  checkpoints_.push_back(c);
}

}  // namespace bc::events::detail
