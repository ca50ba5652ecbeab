#include "actors/api/read_models.hpp"

#include <algorithm>

namespace bc::actors {

namespace {

constexpr std::chrono::milliseconds ask_every{10};

// Neither half holds a NUL.
std::string key_of(const std::string& tenant, const std::string& principal) {
  return tenant + '\0' + principal;
}

}  // namespace

void read_models::wrote(const std::string& tenant, const std::string& principal,
                        std::uint64_t position) {
  auto key = key_of(tenant, principal);
  std::lock_guard lock{mutex_};
  if (auto found = known_.find(key); found != known_.end()) {
    found->second->position = std::max(found->second->position, position);
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return;
  }
  by_use_.push_front({std::move(key), position});
  known_.emplace(by_use_.front().key, by_use_.begin());
  if (known_.size() > most_) {
    known_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
}

std::uint64_t read_models::last_of(const std::string& tenant,
                                   const std::string& principal) const {
  auto key = key_of(tenant, principal);
  std::lock_guard lock{mutex_};
  auto found = known_.find(key);
  return found == known_.end() ? 0 : found->second->position;
}

std::uint64_t read_models::reached() const {
  std::lock_guard lock{mutex_};
  return reached_;
}

void read_models::reach(std::uint64_t position) {
  std::lock_guard lock{mutex_};
  reached_ = std::max(reached_, position);
}

bool read_models::may_ask(instant now) {
  std::lock_guard lock{mutex_};
  if (now - asked_ < ask_every)
    return false;
  asked_ = now;
  return true;
}

}  // namespace bc::actors
