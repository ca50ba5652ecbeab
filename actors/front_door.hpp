#pragma once

#include <spdlog/spdlog.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
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

  /// Makes the answer to a call that cannot have another; the text is the
  /// call's request id.
  using refusal = std::function<Reply(trouble, const std::string&)>;

  front_door(std::size_t limit, refusal refuse)
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
  [[nodiscard]] std::shared_ptr<ticket> admit(callback done,
                                              std::string request_id = {}) {
    auto why = trouble::stopping;
    {
      std::lock_guard lock{mutex_};
      if (!closed_ && inside_.size() < limit_) {
        auto id = ++last_;
        inside_.emplace(id, guest{std::move(done), std::move(request_id)});
        return std::make_shared<ticket>(this->shared_from_this(), id);
      }
      if (!closed_)
        why = trouble::overloaded;
    }
    done(refuse_(why, request_id));
    return nullptr;
  }

  [[nodiscard]] std::size_t inside() const {
    std::lock_guard lock{mutex_};
    return inside_.size();
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
    std::unordered_map<std::uint64_t, guest> rest;
    {
      std::lock_guard lock{mutex_};
      rest.swap(inside_);
    }
    for (auto& [id, one] : rest)
      refuse(one, trouble::stopping);
    left_.notify_all();
  }

 private:
  struct guest {
    callback done;
    std::string request_id;
  };

  void answer(std::uint64_t id, Reply reply) {
    if (auto one = take(id); one.done) {
      call(one, std::move(reply));
      leave();
    }
  }

  void give_up(std::uint64_t id, trouble why) {
    if (auto one = take(id); one.done) {
      refuse(one, why);
      leave();
    }
  }

  void refuse(const guest& one, trouble why) {
    call(one, refuse_(why, one.request_id));
  }

  // The callback is another's code: what it throws is its loss.
  void call(const guest& one, Reply reply) noexcept {
    try {
      one.done(std::move(reply));
    } catch (const std::exception& e) {
      spdlog::error("a reply could not be delivered: {} ({})", e.what(),
                    one.request_id);
    }
  }

  guest take(std::uint64_t id) {
    std::lock_guard lock{mutex_};
    auto found = inside_.find(id);
    if (found == inside_.end())
      return {};
    auto one = std::move(found->second);
    inside_.erase(found);
    ++answering_;
    return one;
  }

  void leave() {
    std::lock_guard lock{mutex_};
    if (--answering_ == 0 && inside_.empty())
      left_.notify_all();
  }

  const std::size_t limit_;
  const refusal refuse_;
  mutable std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  std::uint64_t last_ = 0;
  std::size_t answering_ = 0;
  std::unordered_map<std::uint64_t, guest> inside_;
};

}  // namespace bc::actors
