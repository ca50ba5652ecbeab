#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bc {

/// A value for each of the `most` keys (one at least) that were used last; over
/// it the longest unused is forgotten. Its user's mutex guards it.
template <class T>
class recent_map {
 public:
  explicit recent_map(std::size_t most) : most_(most) {}
  recent_map(const recent_map&) = delete;
  recent_map& operator=(const recent_map&) = delete;

  /// The key's value, `fresh` when it has none; a use.
  T& use(std::string_view key, T fresh) {
    if (auto found = known_.find(key); found != known_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      return by_use_.front().value;
    }
    if (!by_use_.empty() && by_use_.size() >= most_) {
      known_.erase(by_use_.back().key);
      by_use_.pop_back();
    }
    by_use_.push_front({std::string{key}, std::move(fresh)});
    known_.emplace(by_use_.front().key, by_use_.begin());
    return by_use_.front().value;
  }

  /// Null when there is none; no use.
  [[nodiscard]] const T* find(std::string_view key) const {
    auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second->value;
  }

  [[nodiscard]] std::size_t size() const { return by_use_.size(); }

 private:
  struct entry {
    std::string key;
    T value;
  };

  const std::size_t most_;
  std::list<entry> by_use_;  // newest first
  std::unordered_map<std::string_view, typename std::list<entry>::iterator>
      known_;
};

}  // namespace bc
