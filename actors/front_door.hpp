#pragma once

#include <spdlog/spdlog.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace bc::actors {

/// Where calls from outside enter the actors: bounds how many are inside, and
/// makes every callback run exactly once, whatever becomes of the actor that
/// had the call. Any thread.
template <class Reply>
class front_door : public std::enable_shared_from_this<front_door<Reply>> {
 public:
  using callback = std::function<void(Reply)>;
  enum class trouble { overloaded, stopping, lost };

  /// `refuse` makes the answer to a call that cannot have another.
  front_door(std::size_t limit, std::function<Reply(trouble)> refuse)
      : limit_(limit), refuse_(std::move(refuse)) {}

  /// One call inside; dropped without an answer, it is answered `lost`.
  class ticket {
   public:
    ticket(std::shared_ptr<front_door> door, std::uint64_t id)
        : door_(std::move(door)), id_(id) {}
    ticket(const ticket&) = delete;
    ticket& operator=(const ticket&) = delete;
    ~ticket() { door_->give_up(id_, trouble::lost); }
    void answer(Reply reply) { door_->answer(id_, std::move(reply)); }

   private:
    std::shared_ptr<front_door> door_;
    std::uint64_t id_;
  };

  /// Null when the call was refused at once, its callback run.
  [[nodiscard]] std::shared_ptr<ticket> admit(callback done) {
    auto why = trouble::stopping;
    {
      std::lock_guard lock{mutex_};
      if (!closed_ && inside_.size() < limit_) {
        auto id = ++last_;
        inside_.emplace(id, std::move(done));
        return std::make_shared<ticket>(this->shared_from_this(), id);
      }
      if (!closed_)
        why = trouble::overloaded;
    }
    done(refuse_(why));
    return nullptr;
  }

  /// From here on every new call is refused.
  void close() {
    std::lock_guard lock{mutex_};
    closed_ = true;
  }

  /// True once nobody is inside; false when the time is over.
  [[nodiscard]] bool wait_until_empty(
      std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock{mutex_};
    return left_.wait_until(
        lock, deadline, [this] { return inside_.empty() && answering_ == 0; });
  }

  /// Answers everybody still inside.
  void refuse_the_rest() {
    std::unordered_map<std::uint64_t, callback> rest;
    {
      std::lock_guard lock{mutex_};
      rest.swap(inside_);
    }
    for (auto& [id, done] : rest)
      call(done, trouble::stopping);
    left_.notify_all();
  }

 private:
  void answer(std::uint64_t id, Reply reply) {
    if (auto done = take(id)) {
      call(done, std::move(reply));
      leave();
    }
  }

  void give_up(std::uint64_t id, trouble why) {
    if (auto done = take(id)) {
      call(done, why);
      leave();
    }
  }

  void call(const callback& done, trouble why) { call(done, refuse_(why)); }

  // The callback is another's code: what it throws is its loss.
  void call(const callback& done, Reply reply) noexcept {
    try {
      done(std::move(reply));
    } catch (const std::exception& e) {
      spdlog::error("a reply could not be delivered: {}", e.what());
    }
  }

  callback take(std::uint64_t id) {
    std::lock_guard lock{mutex_};
    auto found = inside_.find(id);
    if (found == inside_.end())
      return nullptr;
    auto done = std::move(found->second);
    inside_.erase(found);
    ++answering_;
    return done;
  }

  void leave() {
    std::lock_guard lock{mutex_};
    if (--answering_ == 0 && inside_.empty())
      left_.notify_all();
  }

  const std::size_t limit_;
  const std::function<Reply(trouble)> refuse_;
  std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  std::uint64_t last_ = 0;
  std::size_t answering_ = 0;
  std::unordered_map<std::uint64_t, callback> inside_;
};

}  // namespace bc::actors
