// spec: joining#refusals: the time of a refusal tells nothing (DESIGN 7).
#include "actors/joining/release.hpp"
#include "actors/runtime.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/support/two_sample.hpp"

#include <condition_variable>
#include <cstdlib>
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

TEST_CASE("release: the step comes down by half each minute, called or not") {
  using ms = std::chrono::milliseconds;
  actors::release_pace pace;
  const steady::time_point start{std::chrono::hours{1}};
  auto call = [&](auto at, ms took) {
    return pace.note(start + at - took, start + at);
  };
  CHECK(call(seconds{0}, ms{1'500}) == ms{1'600});
  CHECK(call(seconds{59}, ms{1}) == ms{1'600});
  CHECK(call(seconds{60}, ms{1}) == ms{800});
  CHECK(call(seconds{119}, ms{1}) == ms{800});
  SECTION("ten minutes without a call") {
    CHECK(call(seconds{600}, ms{1}) == actors::release_step);
  }
  SECTION("two minutes") {
    CHECK(call(seconds{185}, ms{1}) == ms{200});
  }
  SECTION("then one that takes long: from there a minute again") {
    CHECK(call(seconds{600}, ms{150}) == ms{200});
    CHECK(call(seconds{659}, ms{1}) == ms{200});
    CHECK(call(seconds{660}, ms{1}) == ms{100});
  }
}

/// Refusals of a loaded process: those that are refused late queue three times,
/// the others once.
std::vector<nanoseconds> under_load(std::mt19937& random, bool paced) {
  std::exponential_distribution<double> wait{1.0 / 80e6};  // 80 ms
  auto queue = [&] {
    return std::min(nanoseconds{static_cast<std::int64_t>(wait(random))},
                    nanoseconds{450'000'000});
  };
  actors::release_pace pace;
  steady::time_point came{};
  std::vector<nanoseconds> out;
  for (int i = 0; i < 40'000; ++i) {
    came += std::chrono::milliseconds{1};
    const bool late = i % 2 != 0;
    auto ready = came + queue();
    if (late)
      ready += queue() + queue();
    const auto step = paced ? pace.note(came, ready) : actors::release_step;
    out.push_back(actors::release_at(came, ready, step) - came);
  }
  return out;
}

TEST_CASE("release: under load neither can those that queue more often") {
  std::mt19937 random{7};
  auto distance = [&](bool paced) {
    std::vector<nanoseconds> early, late;
    const auto all = under_load(random, paced);
    for (std::size_t i = 0; i < all.size(); ++i)
      (i % 2 != 0 ? late : early).push_back(all[i]);
    return ks_distance(early, late);
  };
  const auto limit = ks_limit(20'000, 20'000);
  CHECK(distance(true) <= limit);
  CHECK(distance(false) > 10 * limit);
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
  stopwatch(actors::daemon_port& door, int most_inside)
      : door_(door), most_inside_(most_inside) {}

  void send(const std::string& name, const std::string& body) {
    std::unique_lock lock{mutex_};
    free_.wait(lock, [this] { return inside_ < most_inside_; });
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
    return std::exchange(times_, {});
  }

 private:
  actors::daemon_port& door_;
  const int most_inside_;
  std::mutex mutex_;
  std::condition_variable free_;
  int inside_ = 0;
  std::map<std::string, std::vector<nanoseconds>> times_;
};

// 20,000, or fewer for a look before a whole run.
std::size_t calls_of_each() {
  const auto* fewer = std::getenv("BC_RELEASE_CALLS");
  return fewer != nullptr ? std::stoul(fewer) : 20'000;
}

TEST_CASE("release: 20,000 refusals of each reason take the same real time",
          "[.long]") {
  const auto calls = calls_of_each();
  // Few, whose work fits into one step; and more than the machine can do at
  // once, so that all queue and the step grows.
  const int inside = GENERATE(16, 512);
  CAPTURE(inside);
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
  stopwatch watch{running.value()->daemons(), inside};
  // Until the step is that of this load, some are told apart by it.
  for (std::size_t i = 0; i < order.size() && i < 8'000; ++i)
    watch.send(order[i], bodies.at(order[i]));
  static_cast<void>(watch.finish());
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
