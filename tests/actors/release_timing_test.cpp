// spec: joining#refusals: the time of a refusal tells nothing (DESIGN 7).
#include "actors/joining/release.hpp"
#include "actors/runtime.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/support/two_sample.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <random>

namespace bc::test {
namespace {

using steady = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

std::vector<nanoseconds> released(std::mt19937& random, nanoseconds least,
                                  nanoseconds most, bool held) {
  std::uniform_int_distribution<std::int64_t> work{least.count(), most.count()};
  std::uniform_int_distribution<std::int64_t> moment{0, 1'000'000'000'000};
  std::vector<nanoseconds> out;
  for (int i = 0; i < 2'000; ++i) {
    const steady::time_point came{nanoseconds{moment(random)}};
    const auto ready = came + nanoseconds{work(random)};
    out.push_back((held ? actors::release_at(came, ready) : ready) - came);
  }
  return out;
}

TEST_CASE("release: short and long work cannot be told apart") {
  std::mt19937 random{7};
  const nanoseconds none{0}, short_work{300'000}, long_work{99'999'999};
  auto differ = [&](bool held) {
    auto a = released(random, none, short_work, held);
    auto b = released(random, short_work, long_work, held);
    return ks_distance(a, b) > ks_limit(a.size(), b.size());
  };
  CHECK_FALSE(differ(true));
  // The same samples as they were would give it away.
  CHECK(differ(false));
  for (auto offset : released(random, none, long_work, true))
    REQUIRE(offset == actors::release_step);
}

/// Joins that are refused, each for its own reason, over and over: a refusal
/// changes nothing.
std::map<std::string, std::string> refused_bodies(join_world& w) {
  std::map<std::string, std::string> out;
  auto m = make_machine(1);
  auto add = [&](const std::string& name, const wire::join_request& r) {
    out[name] = wire::encode(r);
    REQUIRE_FALSE(joined(w.send(out[name])));
  };
  auto garbage = w.request(m, "x");
  garbage.csr.pop_back();
  add("join:csr", garbage);
  auto unsealed = w.request(m, "x");
  unsealed.sealed_token.reset();
  add("join:token", unsealed);
  add("malformed", w.request(m, "not a token"));
  auto token = w.mint_token();
  auto guess = minted{token.token, to_base64url(pki::random_bytes(32))};
  add("secret-mismatch", w.request(m, guess.text()));
  guess.token.id = pki::mint<join_token_id>(w.time.now());
  add("unknown", w.request(m, guess.text()));
  add("expired", w.request(m, w.mint_token([&w](auto& t) {
                                 t.expires_at = w.time.now();
                               }).text()));
  add("expect", w.request(m, w.mint_token([](auto& t) {
                                t.expect.serial = "SOMEBODY-ELSE-1";
                              }).text()));
  auto elsewhere = w.request(m, token.text());
  elsewhere.site_id = "site_elsewhere";
  add("site", elsewhere);
  return out;
}

/// Sends joins, so many at a time, and notes how long each took.
class stopwatch {
 public:
  explicit stopwatch(actors::daemon_port& door) : door_(door) {}

  void send(const std::string& name, const std::string& body) {
    // Few, on a machine with nothing else to do: where work takes longer than
    // a slot, how many slots it takes does depend on it.
    constexpr int most_inside = 16;
    std::unique_lock lock{mutex_};
    free_.wait(lock, [this] { return inside_ < most_inside; });
    ++inside_;
    lock.unlock();
    const auto began = steady::now();
    door_.call({body, "req"},
               [this, name, began](const actors::daemon_reply& r) {
                 const auto took = steady::now() - began;
                 std::lock_guard guard{mutex_};
                 if (r.status == 403)
                   times_[name].push_back(took);
                 --inside_;
                 free_.notify_all();
               });
  }

  std::map<std::string, std::vector<nanoseconds>> finish() {
    std::unique_lock lock{mutex_};
    free_.wait(lock, [this] { return inside_ == 0; });
    return times_;
  }

 private:
  actors::daemon_port& door_;
  std::mutex mutex_;
  std::condition_variable free_;
  int inside_ = 0;
  std::map<std::string, std::vector<nanoseconds>> times_;
};

TEST_CASE("release: 20,000 refusals of each reason take the same real time",
          "[.long]") {
  constexpr std::size_t calls = 20'000;
  join_world w;
  // Seals and tokens are of the world's time, which stands still.
  const auto bodies = refused_bodies(w);
  actors::runtime_options options;
  options.journal = w.journal.get();
  options.time = &w.time;
  options.keys = w.keys;
  options.root_tenant = w.root;
  auto running = actors::runtime::start(options);
  REQUIRE(running);

  std::vector<std::string> order;
  for (const auto& [name, body] : bodies)
    order.insert(order.end(), calls, name);
  std::shuffle(order.begin(), order.end(), std::mt19937{11});
  stopwatch watch{running.value()->daemons()};
  for (const auto& name : order)
    watch.send(name, bodies.at(name));
  const auto times = watch.finish();
  running.value()->stop(seconds{10});

  REQUIRE(times.size() == bodies.size());
  const auto& first = times.begin()->second;
  for (const auto& [name, sample] : times) {
    CAPTURE(name);
    CHECK(sample.size() == calls);
    CHECK(ks_distance(first, sample) <= ks_limit(first.size(), sample.size()));
  }
}

}  // namespace
}  // namespace bc::test
