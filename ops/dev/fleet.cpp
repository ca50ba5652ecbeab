#include "ops/dev/fleet.hpp"

#include "ops/dev/fleet_machine.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <thread>
#include <vector>

namespace bc::dev {

namespace {

using steady = std::chrono::steady_clock;

}  // namespace

// A queue of machines by when their next turn is due, and threads that give
// the turns; a machine has one at a time.
struct fleet::parts {
  explicit parts(std::function<void(const std::string&)> to, int threads)
      : say(std::move(to)) {
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([this] { work(); });
  }

  struct place {
    std::shared_ptr<fleet_machine> machine;
    bool busy = false;   // has its turn now
    bool again = false;  // and is due at once after it
    std::optional<std::multimap<steady::time_point, place*>::iterator> queued;
  };

  void due(place& p, milliseconds rest) {
    if (stopping)
      return;
    auto at = steady::now() + rest;
    if (p.queued && (*p.queued)->first <= at)
      return;
    if (p.queued)
      queue.erase(*p.queued);
    p.queued = queue.emplace(at, &p);
    changed.notify_one();
  }

  void wake(place& p) {
    std::lock_guard lock{mutex};
    if (p.busy)
      p.again = true;
    else
      due(p, milliseconds{0});
  }

  void work() {
    std::unique_lock lock{mutex};
    while (!stopping) {
      if (queue.empty()) {
        changed.wait(lock);
        continue;
      }
      auto first = queue.begin();
      if (auto at = first->first; at > steady::now()) {
        changed.wait_until(lock, at);
        continue;
      }
      auto& p = *first->second;
      queue.erase(first);
      p.queued.reset();
      p.busy = true;
      p.again = false;
      lock.unlock();
      auto rest = turn(*p.machine);
      lock.lock();
      p.busy = false;
      if (rest)
        due(p, p.again ? milliseconds{0} : *rest);
    }
  }

  // A machine's trouble, a full disk say, must not end the others.
  std::optional<milliseconds> turn(fleet_machine& m) {
    try {
      return m.turn();
    } catch (const std::exception& e) {
      say(std::string{"a machine's turn failed: "} + e.what());
      return daemon::longest_sleep;
    }
  }

  std::function<void(const std::string&)> say;
  std::atomic<int> renewals{0};
  std::atomic<int> commands{0};
  std::stop_source ended;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::multimap<steady::time_point, place*> queue;
  std::vector<std::unique_ptr<place>> places;
  std::optional<daemon::session_pool> sessions{std::in_place};
  daemon::session_pool* const sessions_here = &*sessions;
  std::vector<std::thread> workers;
};

fleet::fleet(std::function<void(const std::string&)> say, int threads)
    : parts_(std::make_unique<parts>(std::move(say), threads)) {}

fleet::~fleet() {
  stop();
}

void fleet::add(const std::string& name, const daemon::config& machine,
                std::function<result<pki::hardware_claims>()> hardware,
                const daemon::key_places& keys) {
  // One that comes during a stop gets no turn.
  auto made = fleet_machine::open(
      name, machine, std::move(hardware), keys,
      {parts_->say, parts_->sessions_here, parts_->ended.get_token(),
       &parts_->renewals, &parts_->commands});
  if (!made)
    return parts_->say(name + ": " + made.error().message);
  auto place = std::make_unique<parts::place>();
  place->machine = std::move(made).value();
  place->machine->wake_by(
      [p = parts_.get(), at = place.get()] { p->wake(*at); });
  std::lock_guard lock{parts_->mutex};
  parts_->due(*place, milliseconds{0});
  parts_->places.push_back(std::move(place));
}

void fleet::stop() {
  {
    std::lock_guard lock{parts_->mutex};
    if (std::exchange(parts_->stopping, true))
      return;
    parts_->changed.notify_all();
  }
  parts_->ended.request_stop();
  for (auto& worker : parts_->workers)
    worker.join();
  parts_->sessions.reset();
}

fleet::standing fleet::count() const {
  standing out;
  out.renewals = parts_->renewals;
  out.commands = parts_->commands;
  std::lock_guard lock{parts_->mutex};
  for (const auto& place : parts_->places) {
    out.machines += place->machine->is_over() ? 0 : 1;
    out.connected += place->machine->connected() ? 1 : 0;
  }
  return out;
}

}  // namespace bc::dev
