#include "daemon/node.hpp"

#include "daemon/node_commands.hpp"
#include "daemon/rejoin.hpp"
#include "daemon/renewal_loop.hpp"
#include "daemon/trusted_pins.hpp"
#include "daemon/waker.hpp"
#include "pki/digest.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace bc::daemon {

namespace {

constexpr unsigned permille = 1'000;

unsigned some_permille() {
  auto bytes = pki::random_bytes(4);
  unsigned value = 0;
  for (auto b : bytes)
    value = value << 8 | b;
  return value % permille;
}

// What the thread of the session has to say to the thread that renews.
class mailbox {
 public:
  struct signed_time {
    time_point server;
    clock_reading at;
  };

  explicit mailbox(waker& wake) : wake_(wake) {}

  // By itself, and not by the welcome that a session tells of next: what is due
  // by the server's time does not wait for a look at the clock.
  void time(time_point server) {
    {
      std::lock_guard lock{mutex_};
      time_ = signed_time{server, read_clocks()};
    }
    wake_.wake();
  }
  void is(session_news how) {
    {
      std::lock_guard lock{mutex_};
      how_ = std::move(how);
    }
    wake_.wake();
  }
  void give_to(renewal_loop& loop) {
    std::unique_lock lock{mutex_};
    auto time = std::exchange(time_, std::nullopt);
    auto how = std::exchange(how_, std::nullopt);
    lock.unlock();
    if (time)
      loop.learn(time->server, time->at);
    if (how)
      loop.session_is(*how);
  }

 private:
  waker& wake_;
  std::mutex mutex_;
  std::optional<signed_time> time_;
  std::optional<session_news> how_;
};

// The server's time for every thread.
class common_clock {
 public:
  void learn(time_point server) {
    std::lock_guard lock{mutex_};
    clock_.learn(server, read_clocks());
  }
  void learn(const server_clock& better) {
    std::lock_guard lock{mutex_};
    clock_ = better;
  }
  [[nodiscard]] time_point now() const {
    std::lock_guard lock{mutex_};
    return clock_.signed_now(read_clocks());
  }
  [[nodiscard]] std::optional<time_point> signed_at(
      const clock_reading& at) const {
    std::lock_guard lock{mutex_};
    return clock_.known() ? std::optional{clock_.signed_now(at)} : std::nullopt;
  }
  [[nodiscard]] std::optional<milliseconds> offset() const {
    std::lock_guard lock{mutex_};
    return clock_.offset_at(read_clocks());
  }

 private:
  mutable std::mutex mutex_;
  server_clock clock_;
};

// One session after the other, each with the identity of the moment.
class session_keeper {
 public:
  session_keeper(const config& c, const node_options& options, node_identity me,
                 mailbox& news, common_clock& clock, node_commands* commands)
      : config_(c),
        options_(options),
        news_(news),
        clock_(clock),
        commands_(commands),
        me_(std::move(me)) {
    if (options_.session)
      thread_ =
          std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  }
  ~session_keeper() { stop(); }
  session_keeper(const session_keeper&) = delete;
  session_keeper& operator=(const session_keeper&) = delete;

  void stop() {
    thread_.request_stop();
    end_session();
  }

  // The certificate that a session began with may end before it does.
  void use(node_identity me) {
    std::lock_guard lock{mutex_};
    me_ = std::move(me);
    renewed_ = true;
    session_.request_stop();
    changed_.notify_all();
  }

 private:
  void end_session() {
    std::lock_guard lock{mutex_};
    session_.request_stop();
    changed_.notify_all();
  }

  void run(const std::stop_token& stop) {
    int failures = 0;
    while (!stop.stop_requested()) {
      std::unique_lock lock{mutex_};
      renewed_ = false;
      session_ = std::stop_source{};
      auto me = me_.clone();
      auto token = session_.get_token();
      lock.unlock();
      if (stop.stop_requested())
        return;
      auto outcome = options_.session(config_, me, hooks(), token);
      failures = outcome.welcomed ? 0 : failures + 1;
      if (outcome.what == session_outcome::end::stopped)
        continue;
      tell(outcome);
      auto wait = session_wait(outcome, failures, some_permille());
      lock.lock();
      changed_.wait_for(lock, stop, wait, [this] { return renewed_; });
    }
  }

  session_hooks hooks() {
    session_hooks out;
    out.server_time = [this](time_point t) {
      clock_.learn(t);
      news_.time(t);
    };
    out.welcomed = [this](const wire::welcome&) {
      told_.clear();
      options_.say("connected to the gateway");
      news_.is({"connected", true, false});
    };
    out.now = [this] { return clock_.now(); };
    if (commands_ != nullptr)
      commands_->serve(out);
    return out;
  }

  // Once for each kind of trouble.
  void tell(const session_outcome& outcome) {
    bool refused = outcome.what == session_outcome::end::refused;
    news_.is({outcome.why, false, refused});
    if (std::exchange(told_, outcome.why) != outcome.why)
      options_.say("no session with the gateway: " + outcome.why);
  }

  const config& config_;
  const node_options& options_;
  mailbox& news_;
  common_clock& clock_;
  node_commands* commands_;  // null: none are taken
  std::mutex mutex_;
  std::condition_variable_any changed_;
  node_identity me_;
  bool renewed_ = false;
  std::stop_source session_;
  std::string told_;  // of the session's thread
  std::jthread thread_;
};

// The identity to run with, or the exit code.
struct start {
  std::optional<node_identity> me;
  node_exit otherwise = node_exit::local;
};

start begin(const identity_store& store, const node_options& options) {
  auto found = store.look();
  if (!found) {
    options.say(found.error().message);
    return {};
  }
  auto& look = found.value();
  if (look.absent) {
    options.say(
        "this machine has not joined; join it as root: bcd join --config FILE "
        "< token-file");
    return {};
  }
  if (!look.pair && look.join_unfinished) {
    options.say("the join of this machine was cut short: " + look.why +
                "; run bcd join again with the same token");
    return {};
  }
  if (!look.pair) {
    options.say("the identity does not load: " + look.why +
                "; join again as root: bcd join --reset --yes, then bcd join");
    return {std::nullopt, node_exit::needs_person};
  }
  if (!options.role.empty() && look.pair->who.role != options.role) {
    options.say("this machine's identity has the role " + look.pair->who.role +
                ", and this command is for the role " + options.role);
    return {std::nullopt, node_exit::usage};
  }
  if (auto settled = store.settle(look); !settled) {
    options.say(settled.error().message);
    return {};
  }
  return {std::move(look.pair), node_exit::local};
}

}  // namespace

node_exit run_node(const config& c, const node_options& options,
                   std::stop_token stop) {
  const auto& keys = options.keys.keys;
  auto store = identity_store::open(c.data_dir, keys.keeper());
  if (!store) {
    options.say(store.error().message);
    return node_exit::local;
  }
  auto first = begin(store.value(), options);
  if (!first.me)
    return first.otherwise;
  waker wake;
  mailbox news{wake};
  std::stop_callback woken{stop, [&wake] { wake.wake(); }};
  options.say("runs as " + first.me->who.node_id +
              "; the certificate expires at " +
              to_rfc3339(first.me->who.not_after));
  options.notify("READY=1");

  auto clock = std::make_shared<common_clock>();
  std::optional<node_commands> commands;
  if (options.hardware)
    commands.emplace(
        c, store.value(), *first.me,
        node_command_tools{options.version, options.hardware,
                           [clock] { return clock->now(); },
                           [clock] { return clock->offset(); }, options.say});
  session_keeper sessions{c,    options, first.me->clone(),
                          news, *clock,  commands ? &*commands : nullptr};
  std::unique_ptr<node_side> beside;
  if (options.beside)
    beside = options.beside(
        *first.me, {store.value().folder(), [clock](const clock_reading& at) {
                      return clock->signed_at(at);
                    }});
  auto trusting = with_pins_of(c, first.me->who);
  renewal_tools tools;
  tools.clocks = read_clocks;
  tools.random = some_permille;
  tools.say = options.say;
  tools.send = options.send;
  if (!tools.send)
    tools.send = [&](std::string_view body, const node_identity* me) {
      return post_to_gateway(trusting, "/v1/renew", body, me, stop);
    };
  tools.keys = keys;
  rejoin_tools back{options.post, options.hardware, keys, options.keys.tpm,
                    options.say};
  if (!back.post)
    back.post = [&](std::string_view path, std::string_view body) {
      return post_to_gateway(trusting, path, body, nullptr, stop);
    };
  way_back ways{c, store.value(), back};
  if (back.hardware) {
    tools.rejoin = [&](const node_identity& me, time_point now) {
      return ways.attempt(me, now);
    };
    tools.may_rejoin = [&](const node_identity& me, time_point now) {
      return ways.is_open(me, now);
    };
  }
  tools.report = [&](const node_status& s) {
    options.notify("STATUS=" + summary(s));
    // The doctor's help only; a full disk is told when it matters.
    (void)store.value().write_status(encode(s));
  };
  tools.renewed = [&](const node_identity& me) {
    trusting = with_pins_of(c, me.who);
    if (commands)
      commands->use(me);
    sessions.use(me.clone());
    if (beside)
      beside->use(me);
  };
  tools.stopping = [&] { return stop.stop_requested(); };
  renewal_loop loop{c, store.value(), std::move(*first.me), std::move(tools)};
  loop.publish();
  while (!stop.stop_requested()) {
    news.give_to(loop);
    auto rest = loop.step();
    clock->learn(loop.clock());
    if (loop.status().state == renewal_state::expired) {
      options.notify("STOPPING=1");
      return node_exit::needs_person;
    }
    if (!stop.stop_requested())
      wake.sleep(rest);
  }
  options.notify("STOPPING=1");
  return node_exit::stopped;
}

}  // namespace bc::daemon
