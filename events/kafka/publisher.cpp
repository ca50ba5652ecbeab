#include "events/kafka/publisher.hpp"

#include "events/kafka/cluster.hpp"
#include "events/kafka/publisher_session.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace bc::events::kafka {

namespace {

using steady = std::chrono::steady_clock;

constexpr milliseconds first_pause{200};
constexpr milliseconds longest_pause{5'000};
constexpr milliseconds lag_every{1'000};
constexpr milliseconds stop_grace{2'000};
constexpr std::size_t checkpoints_at_once = 100;

// An operator's doing is needed; to try again soon would help nobody.
bool halts(const fault& f) {
  return f.code == errc::invalid_state || f.code == errc::invalid_config ||
         f.code == errc::internal;
}

class thread_publisher final : public publisher {
 public:
  thread_publisher(publisher_options options, journal& store,
                   std::function<std::optional<std::uint64_t>()> epoch)
      : options_(std::move(options)), store_(store), epoch_(std::move(epoch)) {}

  ~thread_publisher() override { end(); }

  void begin() {
    thread_ = std::thread{[this] { run(); }};
  }

  void wake() override {
    {
      std::lock_guard lock{mutex_};
      woken_ = true;
    }
    changed_.notify_all();
  }

  publisher_stats stats() const override {
    std::lock_guard lock{mutex_};
    return stats_;
  }

  void stop() override { end(); }

 private:
  void end() {
    std::lock_guard once{ending_};
    if (!thread_.joinable())
      return;
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
      stop_by_ = steady::now() + stop_grace;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run() {
    while (!stopping()) {
      auto done = guarded_step();
      measure_lag();
      if (done) {
        pause_ = first_pause;
        if (!done.value())
          rest(options_.poll, true);
      } else {
        fall_back(done.error());
      }
    }
    session_.reset();
    brokers_.reset();
    show(publishing::stopped, std::nullopt);
  }

  result<bool> guarded_step() {
    try {
      return step();
    } catch (const std::exception& e) {
      session_.reset();
      return fail(errc::unavailable, "the publisher failed", {}, e.what());
    }
  }

  // True: there may be more to do at once.
  result<bool> step() {
    auto epoch = epoch_();
    if (!epoch) {
      session_.reset();
      show(publishing::standby, std::nullopt);
      return false;
    }
    if (session_ && epoch_of_session_ != *epoch)
      session_.reset();
    if (!session_)
      return connect(*epoch);
    return publish();
  }

  result<bool> connect(std::uint64_t epoch) {
    if (stats().state != publishing::retrying &&
        stats().state != publishing::halted)
      show(publishing::connecting, std::nullopt);
    count([](auto& s) { ++s.sessions; });
    epoch_of_session_ = epoch;
    if (!brokers_) {
      BC_TRY(made, cluster::connect(options_.client));
      brokers_ = std::move(made);
    }
    // A look, before anybody is fenced: an operator's `events resume` must get
    // through.
    if (stats().state == publishing::halted) {
      BC_TRYV(publisher_session::look(options_, *brokers_, store_, go_on_));
    }
    BC_TRY(opened, publisher_session::open(options_, *brokers_, store_, memory_,
                                           go_on_));
    session_ = std::move(opened);
    checked_topics_ = steady::now();
    show_position();
    show(publishing::running, std::nullopt);
    return true;
  }

  result<bool> publish() {
    auto rows = store_.read_all(session_->position(), session_->batch_limit());
    if (!rows)
      return rows.error();
    BC_TRY(heads, new_checkpoints());
    if (rows.value().empty() && heads.empty())
      return is_idle();
    auto done = session_->publish(rows.value(), heads, still_ours_);
    if (!done) {
      // Whatever it was: only the control topic knows what is committed.
      session_.reset();
      return done.error();
    }
    count([&](auto& s) {
      s.published += done.value().events;
      s.parked += done.value().parked.size();
    });
    for (auto position : done.value().parked)
      say("event " + std::to_string(position) +
          " is larger than Kafka takes; parked in " + options_.topics.parked());
    show_position();
    show(publishing::running, std::nullopt);
    return true;
  }

  // Nothing to publish: a moment to look whether the world is still the same.
  result<bool> is_idle() {
    BC_TRY(head, store_.head());
    // Another journal was put in this one's place; the control record tells.
    if (head.position < session_->position())
      session_.reset();
    if (steady::now() - checked_topics_ > std::chrono::seconds{60}) {
      checked_topics_ = steady::now();
      auto same = brokers_->ensure(options_.topics.plans(), go_on_);
      if (!same && same.error().code == errc::invalid_config) {
        session_.reset();
        return same.error();
      }
    }
    return false;
  }

  result<std::vector<checkpoint>> new_checkpoints() {
    if (steady::now() - asked_checkpoints_ < lag_every)
      return std::vector<checkpoint>{};
    asked_checkpoints_ = steady::now();
    return store_.read_checkpoints(session_->checkpoint(), checkpoints_at_once);
  }

  void fall_back(const fault& f) {
    // Without the lease a fenced producer is as it should be.
    if (!epoch_())
      return;
    if (halts(f)) {
      session_.reset();
      show(publishing::halted, f);
      // Also the connection: what is wrong may be in it.
      brokers_.reset();
      return rest(options_.halted_retry, false);
    }
    show(publishing::retrying, f);
    rest(pause_, false);
    pause_ = std::min(2 * pause_, longest_pause);
  }

  // Sleeps; the lag is measured on, so that an alarm on it works.
  void rest(milliseconds time, bool until_woken) {
    const auto end = steady::now() + time;
    for (auto now = steady::now(); now < end && !stopping();
         now = steady::now()) {
      std::unique_lock lock{mutex_};
      auto slice = std::min<steady::duration>(end - now, lag_every);
      changed_.wait_for(lock, slice,
                        [&] { return stopping_ || (until_woken && woken_); });
      if (until_woken && std::exchange(woken_, false))
        return;
      lock.unlock();
      measure_lag();
    }
  }

  void measure_lag() {
    if (steady::now() - measured_ < lag_every)
      return;
    measured_ = steady::now();
    auto head = store_.head();
    if (!head)
      return;
    // Until Kafka told how far it is, only what came since is known to lag;
    // a standby does not lag at all.
    const auto seen = stats();
    if (seen.state == publishing::standby)
      assumed_ = std::nullopt;
    else if (!assumed_)
      assumed_ = head.value().position;
    const auto position = seen.position != 0
                              ? seen.position
                              : std::min(assumed_.value_or(~std::uint64_t{0}),
                                         head.value().position);
    const bool lags =
        seen.state != publishing::standby && position < head.value().position;
    seconds age{0};
    if (lags) {
      auto next = store_.read_all(position, 1);
      if (next && !next.value().empty())
        age = std::chrono::duration_cast<seconds>(store_.now() -
                                                  next.value().front().time);
    }
    count([&](auto& s) {
      s.head = std::max(head.value().position, position);
      s.lag_events = lags ? s.head - position : 0;
      s.lag = std::max(age, seconds{0});
    });
  }

  void show_position() {
    count([this](auto& s) {
      s.position = session_->position();
      s.head = std::max(s.head, s.position);
      s.lag_events = s.head - s.position;
      if (s.lag_events == 0)
        s.lag = seconds{0};
    });
  }

  void show(publishing state, std::optional<fault> why) {
    bool is_new = false;
    count([&](auto& s) {
      is_new =
          s.state != state ||
          (why && (!s.last_fault || s.last_fault->message != why->message));
      s.state = state;
      s.last_fault = why;
    });
    if (is_new)
      say(std::string{text_of(state)} + (why ? ": " + words(*why) : ""));
  }

  static std::string words(const fault& why) {
    return why.message + (why.detail.empty() ? "" : " (" + why.detail + ")");
  }

  template <class Change>
  void count(Change change) {
    std::lock_guard lock{mutex_};
    change(stats_);
  }

  void say(const std::string& line) const {
    if (options_.log)
      options_.log(line);
  }

  bool stopping() const {
    std::lock_guard lock{mutex_};
    return stopping_;
  }

  // What is nearly done is finished: an open transaction would keep readers
  // waiting until it times out.
  bool may_go_on() const {
    std::lock_guard lock{mutex_};
    return !stopping_ || steady::now() < stop_by_;
  }

  const publisher_options options_;
  journal& store_;
  const std::function<std::optional<std::uint64_t>()> epoch_;
  // Long waits end when the program does, or when another process took over.
  const keep_going go_on_ = [this] {
    measure_lag();
    return may_go_on() && epoch_() == epoch_of_session_;
  };
  const keep_going still_ours_ = [this] {
    return epoch_() == epoch_of_session_;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  publisher_stats stats_;
  bool stopping_ = false;
  steady::time_point stop_by_{};
  bool woken_ = false;
  std::mutex ending_;
  std::thread thread_;

  // The thread's own.
  publisher_memory memory_;
  std::unique_ptr<cluster> brokers_;
  std::unique_ptr<publisher_session> session_;
  std::uint64_t epoch_of_session_ = 0;
  milliseconds pause_ = first_pause;
  std::optional<std::uint64_t> assumed_;
  steady::time_point measured_{};
  steady::time_point asked_checkpoints_{};
  steady::time_point checked_topics_{};
};

}  // namespace

std::string_view text_of(publishing state) noexcept {
  switch (state) {
    case publishing::standby:
      return "standby";
    case publishing::connecting:
      return "connecting";
    case publishing::running:
      return "running";
    case publishing::retrying:
      return "retrying";
    case publishing::halted:
      return "halted";
    case publishing::stopped:
      return "stopped";
  }
  return "unknown";
}

result<std::unique_ptr<publisher>> publisher::start(
    publisher_options options, journal& store,
    std::function<std::optional<std::uint64_t>()> epoch) {
  BC_TRYV(check_properties(options.client));
  BC_TRYV(check_names(options.topics));
  if (options.source.empty() || options.transactional_id.empty())
    return fail(errc::invalid_config,
                "a publisher needs a source and a transactional id");
  options.max_events = std::max<std::size_t>(options.max_events, 1);
  auto made = std::make_unique<thread_publisher>(std::move(options), store,
                                                 std::move(epoch));
  made->begin();
  return std::unique_ptr<publisher>{std::move(made)};
}

}  // namespace bc::events::kafka
