#include "ops/dev/fleet_machine.hpp"

#include "daemon/gateway_client.hpp"
#include "daemon/rejoin.hpp"
#include "daemon/trusted_pins.hpp"
#include "daemon/waker.hpp"
#include "ops/version.hpp"
#include "pki/digest.hpp"

#include <algorithm>

namespace bc::dev {

namespace {

using end = daemon::session_outcome::end;

unsigned some_permille() {
  auto bytes = pki::random_bytes(2);
  return static_cast<unsigned>(bytes[0] << 8 | bytes[1]) % 1000;
}

}  // namespace

result<std::shared_ptr<fleet_machine>> fleet_machine::open(
    std::string name, const daemon::config& machine,
    std::function<result<pki::hardware_claims>()> hardware,
    const daemon::key_places& keys, const fleet_tools& tools) {
  BC_TRY(store,
         daemon::identity_store::open(machine.data_dir, keys.keys.keeper()));
  BC_TRY(look, store.look());
  if (!look.pair)
    return fail(errc::invalid_state, "no identity: " + look.why);
  BC_TRYV(store.settle(look));
  std::shared_ptr<fleet_machine> made{new fleet_machine{
      std::move(name), machine, std::move(store), keys, tools}};
  made->start(std::move(*look.pair), std::move(hardware));
  return made;
}

fleet_machine::fleet_machine(std::string name, const daemon::config& machine,
                             daemon::identity_store store,
                             const daemon::key_places& keys,
                             const fleet_tools& tools)
    : name_(std::move(name)),
      config_(machine),
      tools_(tools),
      keys_(keys),
      store_(std::move(store)) {}

void fleet_machine::start(
    daemon::node_identity me,
    std::function<result<pki::hardware_claims>()> hardware) {
  identity_ = std::make_shared<daemon::current_identity>(config_, me);
  loop_.emplace(config_, store_, std::move(me), renewal(hardware));
  auto journal = daemon::command_journal::open(store_.folder());
  if (!journal)
    return tell("takes no commands: " + journal.error().message);
  daemon::node_command_tools with;
  with.version = std::string{version};
  with.hardware = std::move(hardware);
  with.clock_offset = [this] {
    std::lock_guard lock{mutex_};
    return clock_.offset_at(daemon::read_clocks());
  };
  with.say = [this](const std::string& line) { tell(line); };
  daemon::runner_tools tools;
  tools.now = [this] { return server_now(); };
  tools.say = with.say;
  tools.wake = [this] { wake_(); };
  // Made-up hardware does not hang, and the rest has its own time limits.
  tools.run =
      [with = daemon::tools_for_commands(config_, identity_, with),
       count = tools_.commands](
          const wire::command_body& command,
          const std::stop_token& stop) -> std::optional<wire::command_result> {
    auto result = daemon::carry_out(command, with, stop);
    if (stop.stop_requested())
      return std::nullopt;
    ++*count;
    return result;
  };
  runner_.emplace(std::move(journal).value(), std::move(tools));
}

daemon::renewal_tools fleet_machine::renewal(
    std::function<result<pki::hardware_claims>()> hardware) {
  daemon::renewal_tools out;
  out.clocks = daemon::read_clocks;
  out.random = some_permille;
  out.say = [this](const std::string& line) { tell(line); };
  out.send = [this](std::string_view body, const daemon::node_identity* me) {
    return daemon::post_to_gateway(identity_->get().first, "/v1/renew", body,
                                   me, tools_.stop);
  };
  out.keys = keys_.keys;
  if (hardware) {
    daemon::rejoin_tools back;
    back.hardware = std::move(hardware);
    back.post = [this](std::string_view path, std::string_view body) {
      return daemon::post_to_gateway(identity_->get().first, path, body,
                                     nullptr, tools_.stop);
    };
    back.keys = keys_.keys;
    back.tpm = keys_.tpm;
    back.say = out.say;
    back_.emplace(config_, store_, std::move(back));
    out.rejoin = [this](const daemon::node_identity& me, time_point now) {
      return back_->attempt(me, now);
    };
    out.may_rejoin = [this](const daemon::node_identity& me, time_point now) {
      return back_->is_open(me, now);
    };
  }
  out.renewed = [this](const daemon::node_identity& me) {
    identity_->use(me);
    renewed_ = true;
    ++*tools_.renewals;
  };
  out.stopping = [this] { return tools_.stop.stop_requested(); };
  out.for_trials = true;
  return out;
}

std::optional<milliseconds> fleet_machine::turn() {
  if (over_)
    return std::nullopt;
  news fresh;
  {
    std::lock_guard lock{mutex_};
    fresh = std::exchange(news_, {});
  }
  take(fresh);
  auto rest = loop_->step();
  learn(loop_->clock());
  if (loop_->status().state == daemon::renewal_state::expired ||
      tools_.stop.stop_requested()) {
    over_ = true;
    session_.request_stop();
    return std::nullopt;
  }
  auto now = daemon::read_clocks().since_boot;
  if (std::exchange(renewed_, false)) {
    // The certificate that the session began with may end before it does.
    session_.request_stop();
    next_session_ = now;
  }
  if (!in_session_ && now >= next_session_)
    begin_session();
  if (runner_ && runner_->step(tools_.stop))
    return milliseconds{0};
  if (!in_session_)
    rest = std::clamp(next_session_ - now, milliseconds{0}, rest);
  return rest;
}

void fleet_machine::take(const news& n) {
  if (n.server_time)
    loop_->learn(*n.server_time, n.at);
  if (n.welcomed)
    loop_->session_is({"connected", true, false});
  if (!n.ended)
    return;
  const auto& how = *n.ended;
  in_session_ = false;
  if (how.what == end::stopped)
    return;
  failures_ = how.welcomed ? 0 : failures_ + 1;
  next_session_ = daemon::read_clocks().since_boot +
                  daemon::session_wait(how, failures_, some_permille());
  loop_->session_is({how.why, false, how.what == end::refused});
  if (how.what == end::going_away || how.what == end::overloaded)
    return;
  if (std::exchange(told_, how.why) != how.why)
    tell("no session with the gateway: " + how.why);
}

void fleet_machine::begin_session() {
  in_session_ = true;
  session_ = std::stop_source{};
  tools_.sessions->begin(
      config_, identity_->get().second, std::string{version}, hooks(),
      session_.get_token(),
      [self = shared_from_this()](daemon::session_outcome how) {
        self->connected_ = false;
        {
          std::lock_guard lock{self->mutex_};
          self->news_.ended = std::move(how);
        }
        self->wake_();
      });
}

// The session's end holds the machine, and it outlives its hooks.
daemon::session_hooks fleet_machine::hooks() {
  daemon::session_hooks out;
  out.now = [this] { return server_now(); };
  out.server_time = [this](time_point server) {
    std::lock_guard lock{mutex_};
    news_.at = daemon::read_clocks();
    news_.server_time = server;
    clock_.learn(server, news_.at);
  };
  out.welcomed = [this](const wire::welcome&) {
    connected_ = true;
    {
      std::lock_guard lock{mutex_};
      news_.welcomed = true;
    }
    wake_();
  };
  if (runner_)
    runner_->serve(out);
  return out;
}

time_point fleet_machine::server_now() const {
  std::lock_guard lock{mutex_};
  return clock_.signed_now(daemon::read_clocks());
}

void fleet_machine::learn(const daemon::server_clock& clock) {
  std::lock_guard lock{mutex_};
  // A session may have told the time since.
  if (!news_.server_time)
    clock_ = clock;
}

void fleet_machine::tell(const std::string& line) const {
  tools_.say(name_ + ": " + line);
}

}  // namespace bc::dev
