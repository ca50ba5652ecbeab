#pragma once

#include "actors/runtime.hpp"
#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/credential.hpp"
#include "events/refusal.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/actors/watched_journal.hpp"

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>

namespace bc::test {

using actors::api_reply;
using actors::daemon_reply;

constexpr milliseconds no_tail{3'600'000};

/// Collects replies from any thread.
template <class Reply>
class collected {
 public:
  std::function<void(Reply)> take() {
    return [this](Reply r) {
      std::lock_guard lock{mutex_};
      replies_.push_back(std::move(r));
      more_.notify_all();
    };
  }
  std::vector<Reply> wait_for(std::size_t n) {
    std::unique_lock lock{mutex_};
    more_.wait(lock, [&] { return replies_.size() >= n; });
    return replies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Reply> replies_;
};

std::string at(const std::string& body, const char* pointer);

wire::join_answer answer_in(const daemon_reply& r);

/// Read models that are as far as the test says.
class late_models final : public sample_queries {
 public:
  result<std::uint64_t> position() override;
  std::atomic<std::uint64_t> reached = 0;
  std::atomic<int> asked = 0;
};

/// One server process.
struct process {
  explicit process(events::journal& store);
  /// What a gateway relays.
  daemon_reply ask(actors::daemon_call call);
  daemon_reply join(const join_world& w, const machine& m,
                    const std::string& token);
  api_reply call(const std::string& method, const std::string& key,
                 const std::string& body, const std::string& position = {});

  watched_journal journal;
  late_models models;
  std::unique_ptr<actors::runtime> server;
};

/// Two runtimes that know nothing of each other but what the journal tells.
class two_processes {
 public:
  two_processes() = default;
  /// Each on a connection of its own to one store.
  explicit two_processes(const open_journal& open);

  void start(milliseconds tail = milliseconds{200});
  void stop();

  /// A credential of the tenant that may do everything.
  std::string credential();

  std::string create_input(const std::string& idempotency_key);

  /// The first append of each process waits for the other's.
  void race_first_appends();

  /// Refusals of a reason: as events, and in all.
  std::pair<std::size_t, std::uint64_t> refusals(const tenant_id& of,
                                                 const char* reason);

  void check_journal();

  join_world w;
  /// Changes what a runtime is started with.
  std::function<void(process&, actors::runtime_options&)> before_start;

 private:
  std::unique_ptr<events::journal> second_;  // null: the first one's
  std::barrier<> meeting_{2};

 public:
  process a{*w.journal}, b{second_ ? *second_ : *w.journal};
};

minted many_uses(join_world& w, std::int64_t uses);

}  // namespace bc::test
