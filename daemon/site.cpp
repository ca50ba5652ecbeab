#include "daemon/site.hpp"

#include "base/http_date.hpp"
#include "base/wire.hpp"
#include "base/wire_boot_lease.hpp"
#include "daemon/printable.hpp"
#include "daemon/site_lease.hpp"
#include "daemon/site_leases.hpp"
#include "daemon/site_listener.hpp"
#include "daemon/site_status.hpp"
#include "daemon/site_vouch.hpp"
#include "daemon/trusted_pins.hpp"
#include "daemon/waker.hpp"
#include "pki/chain.hpp"
#include "pki/digest.hpp"
#include "pki/vouch.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace bc::daemon {

namespace {

constexpr std::string_view boot_lease_path = "/v1/boot-lease";
constexpr seconds serve_again{5};

unsigned some_permille() {
  auto bytes = pki::random_bytes(2);
  return static_cast<unsigned>(bytes[0] << 8 | bytes[1]) % 1'000;
}

// Asks for a stop when its time is over, unless it is destroyed before.
class time_limit {
 public:
  explicit time_limit(milliseconds most)
      : thread_{[this, most](const std::stop_token& done) {
          std::unique_lock lock{mutex_};
          changed_.wait_for(lock, done, most, [] { return false; });
          if (!done.stop_requested())
            over_.request_stop();
        }} {}
  [[nodiscard]] std::stop_token token() const { return over_.get_token(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::stop_source over_;
  std::jthread thread_;
};

class site_agent final : public node_side {
 public:
  site_agent(const config& c, const node_identity& me,
             const node_side_tools& of_node, site_tools tools)
      : config_(c),
        node_(of_node),
        tools_(std::move(tools)),
        me_(std::make_shared<const node_identity>(me.clone())),
        leases_(c.site_agent.leases_file),
        desk_(desk_tools()),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void use(const node_identity& me) override {
    std::lock_guard lock{mutex_};
    me_ = std::make_shared<const node_identity>(me.clone());
  }

 private:
  struct question {
    std::shared_ptr<const node_identity> me;
    clock_reading sent;
    exchange got;
  };

  vouch_desk_tools desk_tools() {
    vouch_desk_tools out;
    out.site = site_id::parse(config_.site).value();
    out.epoch = [this] {
      auto at = tools_.clocks().since_boot;
      std::lock_guard lock{mutex_};
      return keeper_.epoch_at(at);
    };
    out.lent_to = [this](std::string_view ip) {
      return leases_.mac_at(ip, tools_.clocks().wall);
    };
    out.server_time = [this] { return server_time(tools_.clocks()); };
    out.since_boot = [this] { return tools_.clocks().since_boot; };
    out.sign = [this](const pki::vouch::claims& claims) {
      auto me = who();
      return pki::vouch::make(
          claims, me->who.certificate_chain.front(),
          [&me](const pki::sha256_digest& digest)
              -> result<pki::raw_signature> { return me->key.sign(digest); });
    };
    out.say = tools_.say;
    return out;
  }

  [[nodiscard]] std::shared_ptr<const node_identity> who() const {
    std::lock_guard lock{mutex_};
    return me_;
  }

  // What the server signed last; before that, what the gateway's answers say,
  // without which the lease is not known either.
  [[nodiscard]] time_point server_time(const clock_reading& at) const {
    if (auto known = node_.server_time(at))
      return *known;
    std::lock_guard lock{mutex_};
    return dated_.signed_now(at);
  }

  // What the system does not have now (memory, a descriptor, a thread), it may
  // have later.
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested())
      try {
        serve(stop);
      } catch (const std::exception& e) {
        tools_.say("the site agent does not serve: " + std::string{e.what()} +
                   "; trying again");
        rest(stop);
      }
    try {
      give_back();
    } catch (const std::exception& e) {
      tools_.say("could not give the boot lease back; it runs out: " +
                 std::string{e.what()});
    }
  }

  static void rest(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock{mutex};
    stopped.wait_for(lock, stop, serve_again, [] { return false; });
  }

  void serve(const std::stop_token& stop) {
    vouch_listener listener{
        parse_listen_address(config_.site_agent.listen).value(),
        [this](const vouch_question& q) { return desk_.answer(q); },
        tools_.say};
    if (tools_.listening)
      tools_.listening(listener.port());
    waker wake;
    std::stop_callback woken{stop, [&wake] { wake.wake(); }};
    while (!stop.stop_requested()) {
      auto wait = next() - tools_.clocks().since_boot;
      if (wait > milliseconds{0})
        wake.sleep(wait);
      else
        ask(stop);
    }
  }

  [[nodiscard]] milliseconds next() const {
    std::lock_guard lock{mutex_};
    return keeper_.next();
  }

  question post(bool release, std::stop_token stop) {
    question out{who(), tools_.clocks(), {}};
    const auto& me = out.me->who;
    out.got = tools_.post(with_pins_of(config_, me), boot_lease_path,
                          wire::encode(wire::boot_lease_request{
                              me.node_id, config_.site, release}),
                          *out.me, std::move(stop));
    return out;
  }

  void ask(const std::stop_token& stop) {
    auto asked = post(false, stop);
    // Nothing was sent in the other two.
    if (asked.got.what == exchange::fate::answered ||
        asked.got.what == exchange::fate::lost)
      may_be_ours_ = true;
    if (stop.stop_requested())
      return;
    judge(asked);
    tell();
  }

  void judge(const question& asked) {
    const auto& got = asked.got;
    if (got.what != exchange::fate::answered)
      return failed(got.why);
    if (auto date = from_http_date(got.date)) {
      auto now = tools_.clocks();
      std::lock_guard lock{mutex_};
      dated_.learn(*date, now);
    }
    auto server = server_time(asked.sent);
    if (!pki::chain_valid_at(got.chain, server))
      return failed("the gateway's certificate is not valid at the time " +
                    to_rfc3339(server));
    if (got.status != 200)
      return not_given(got);
    auto body = wire::decode_boot_lease_body(got.body);
    if (!body ||
        body.value().held != (body.value().holder == asked.me->who.node_id))
      return failed("the answer is not one of the boot lease");
    may_be_ours_ = body.value().held;
    std::lock_guard lock{mutex_};
    keeper_.answered(body.value(), asked.sent.since_boot, server,
                     some_permille());
  }

  void not_given(const exchange& got) {
    auto answer = wire::decode_join_answer(got.status, got.body);
    const bool is_refusal =
        answer && answer.value().what == wire::join_answer::kind::failed &&
        answer.value().code == errc::access_denied;
    auto said = answer ? std::string{wire_text(answer.value().code)} + ": " +
                             printable(answer.value().message)
                       : "HTTP " + std::to_string(got.status);
    if (!is_refusal)
      return failed("the server does not give boot leases now (" + said + ")");
    may_be_ours_ = false;
    auto at = tools_.clocks().since_boot;
    std::lock_guard lock{mutex_};
    keeper_.refused(
        "the server does not let this agent have it: its identity is not (any "
        "more) one of a site agent of this site",
        at, some_permille());
  }

  void failed(std::string why) {
    auto at = tools_.clocks().since_boot;
    std::lock_guard lock{mutex_};
    keeper_.failed(std::move(why), at, some_permille());
  }

  void tell() {
    auto line = line_of(keep_status());
    if (std::exchange(told_, line) != line)
      tools_.say(line);
  }

  // The doctor's help only; a full disk is told when it matters.
  boot_lease_view keep_status() {
    auto at = tools_.clocks();
    std::unique_lock lock{mutex_};
    auto now = keeper_.view(at.since_boot);
    auto me = me_;
    lock.unlock();
    (void)write_site_status(node_.folder,
                            {me->who.node_id, now, server_time(at)});
    return now;
  }

  [[nodiscard]] std::string line_of(const boot_lease_view& now) const {
    const auto about = "the boot lease of " + config_.site;
    if (!now.trouble.empty())
      return "cannot ask for " + about + ": " + now.trouble +
             (now.held ? "; it is still held" : "");
    auto epoch = ", epoch " + std::to_string(now.epoch);
    if (now.held)
      return "holds " + about + epoch;
    if (now.holder.empty())
      return about + " is nobody's";
    return about + " is held by " + printable(now.holder) + epoch;
  }

  void give_back() {
    if (!may_be_ours_)
      return;
    auto at = tools_.clocks().since_boot;
    const bool known = [&] {
      std::lock_guard lock{mutex_};
      return keeper_.view(at).held;
    }();
    time_limit limit{release_patience};
    auto asked = post(true, limit.token());
    if (asked.got.what != exchange::fate::answered || asked.got.status != 200)
      return tools_.say(known
                            ? "could not give the boot lease back; it runs out"
                            : "could not give a boot lease back that it may "
                              "have; it runs out");
    {
      std::lock_guard lock{mutex_};
      keeper_.released();
    }
    tools_.say(known ? "gave the boot lease back"
                     : "gave a boot lease back that it may have had");
    (void)keep_status();
  }

  const config config_;
  const node_side_tools node_;
  const site_tools tools_;
  mutable std::mutex mutex_;
  std::shared_ptr<const node_identity> me_;
  boot_lease_keeper keeper_;
  server_clock dated_;
  lease_file leases_;  // of the listener's desk
  vouch_desk desk_;    // likewise
  std::string told_;   // of the thread, likewise the next one
  // An ask reached the server, and no answer said that the lease is not ours.
  bool may_be_ours_ = false;
  std::jthread thread_;
};

}  // namespace

site_tools real_site_tools(std::function<void(const std::string&)> say) {
  return {std::move(say),
          [](const config& c, std::string_view path, std::string_view body,
             const node_identity& me, std::stop_token stop) {
            return post_to_gateway(c, path, body, &me, std::move(stop));
          },
          read_clocks};
}

std::unique_ptr<node_side> start_site_agent(const config& c,
                                            const node_identity& me,
                                            const node_side_tools& of_node,
                                            site_tools tools) {
  return std::make_unique<site_agent>(c, me, of_node, std::move(tools));
}

}  // namespace bc::daemon
