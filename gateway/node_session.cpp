#include "gateway/node_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace bc::gateway {

namespace {

constexpr seconds second_look{1};

// The welcome that a server answered a hello with.
std::optional<wire::welcome> welcome_in(const std::string& body) {
  auto frame = wire::decode_to_daemon(body);
  if (!frame || !frame.value())
    return std::nullopt;
  const auto* found = std::get_if<wire::welcome>(&*frame.value());
  return found != nullptr ? std::optional{*found} : std::nullopt;
}

}  // namespace

node_session::node_session(session_peer peer, std::string gateway_id,
                           session_limits limits,
                           std::shared_ptr<session_calls> calls,
                           std::weak_ptr<owner> whose)
    : peer_(std::move(peer)),
      gateway_id_(std::move(gateway_id)),
      limits_(limits),
      calls_(std::move(calls)),
      owner_(std::move(whose)) {}

// What comes from other threads.

void node_session::doubt(milliseconds within, bool twice) {
  on_strand([self = shared_from_this(), within, twice] {
    // A hello that is not sent yet will be judged by what is true then.
    if (self->phase_ == phase::greeting || self->phase_ == phase::ending)
      return;
    self->check_twice_ = self->check_twice_ || twice;
    self->doubted_meanwhile_ = true;
    if (self->phase_ == phase::asking && self->welcome_.empty())
      return;
    auto by = steady::now() + within;
    self->good_by_ = std::min(self->good_by_.value_or(by), by);
    self->check();
    self->arm();
  });
}

void node_session::commands_wait() {
  on_strand([self = shared_from_this()] {
    if (self->phase_ == phase::running)
      self->fetch();
  });
}

void node_session::end(wire::session_close code, std::string reason,
                       std::string why) {
  on_strand([self = shared_from_this(), code, reason = std::move(reason),
             why = std::move(why)] { self->say_and_end(code, reason, why); });
}

// What the daemon does.

void node_session::on_open(const std::shared_ptr<web_socket>& socket) {
  socket_ = socket;
  window_ = steady::now();
  frame_by_ = window_ + limits_.hello;
  arm();
  if (auto owner = owner_.lock())
    owner->opened(shared_from_this());
}

void node_session::on_text(std::string_view text) {
  count_frame();
  if (phase_ == phase::ending)
    return;
  auto frame = wire::decode_from_daemon(text);
  if (!frame)
    return bad_frame(frame.error().path + " " + frame.error().message);
  // A newer daemon may say more.
  if (frame.value())
    take_frame(std::move(*frame.value()));
}

void node_session::take_frame(wire::from_daemon frame) {
  if (is_expired())
    return end_expired();
  if (const auto* hello = std::get_if<wire::hello>(&frame)) {
    if (phase_ != phase::greeting)
      return bad_frame("a session has one hello");
    return take(*hello);
  }
  if (phase_ != phase::running)
    return bad_frame("a session begins with a hello, and its welcome");
  expect_frame();
  if (const auto* beat = std::get_if<wire::heartbeat>(&frame))
    take(*beat);
  else
    take(std::get<wire::command_result>(std::move(frame)));
}

void node_session::take(const wire::hello& m) {
  phase_ = phase::asking;
  frame_by_ = steady::now() + limits_.answer;
  arm();
  ask_hello(m);
}

void node_session::take(const wire::heartbeat& m) {
  if (auto socket = socket_.lock())
    socket->send(wire::encode(wire::to_daemon{m}));
}

void node_session::on_control() {
  count_frame();
}

void node_session::count_frame() {
  auto now = steady::now();
  if (now - window_ > limits_.window) {
    window_ = now;
    frames_ = 0;
  }
  if (++frames_ > limits_.frames)
    bad_frame("too many frames");
}

void node_session::on_deadline() {
  if (is_expired())
    return end_expired();
  auto now = steady::now();
  if (good_by_ && now >= *good_by_)
    return say_and_end(wire::session_close::going_away, "cut",
                       "nobody knows whether this session holds; come back");
  if (check_at_ && now >= *check_at_) {
    check_at_.reset();
    check();
  }
  if (fetch_at_ && now >= *fetch_at_) {
    fetch_at_.reset();
    fetch();
  }
  if (now < frame_by_)
    return arm();
  switch (phase_) {
    case phase::greeting:
      return bad_frame("no hello in time");
    case phase::asking:
      return say_and_end(wire::session_close::overloaded, "closed",
                         "no answer in time; retry");
    case phase::running:
      return say_and_end(wire::session_close::going_away, "lost",
                         "no heartbeat came");
    case phase::ending:
      return;
  }
}

void node_session::on_closed(socket_end how) {
  phase_ = phase::ending;
  if (reason_.empty())
    reason_ = how == socket_end::lost ? "lost" : "closed";
  bool tell = false;
  {
    std::lock_guard lock{mutex_};
    over_ = true;
    end_reason_ = reason_;
    tell = connected_;
  }
  if (tell)
    relay_end(reason_);
  if (auto owner = owner_.lock())
    owner->closed(*this);
}

// Beginning.

void node_session::ask_hello(const wire::hello& m) {
  calls_->ask(session_calls::rank::hello, actors::daemon_request::hello,
              wire::encode(wire::session_hello{peer_.session_id, gateway_id_,
                                               peer_.address, m}),
              peer_.certificate, socket_,
              [self = shared_from_this()](const actors::daemon_reply& reply) {
                self->on_hello_answer(reply);
              });
}

// Any thread: what the join service has noted as a session is ended there, also
// when the daemon went while it was asked.
void node_session::on_hello_answer(const actors::daemon_reply& reply) {
  std::string gone;
  {
    std::lock_guard lock{mutex_};
    // Of one that failed nobody knows: what it wrote may be there.
    connected_ = is_good(reply.status) || reply.status >= 500;
    if (over_ && connected_)
      gone = end_reason_;
  }
  if (!gone.empty())
    return relay_end(gone);
  on_strand([self = shared_from_this(), reply] { self->judge_hello(reply); });
}

void node_session::judge_hello(const actors::daemon_reply& reply) {
  if (phase_ != phase::asking)
    return;
  if (reply.status == 403)
    return end_refused("this identity is not a node's");
  if (reply.status == 409)
    return say_and_end(wire::session_close::superseded, "superseded",
                       "a newer session took over");
  if (!is_good(reply.status))
    return say_and_end(wire::session_close::overloaded, "closed",
                       "no session can begin now; retry");
  auto welcome = welcome_in(reply.body);
  if (!welcome || welcome->session_id != peer_.session_id) {
    spdlog::error("session {}: the hello's answer is no welcome to it",
                  peer_.session_id);
    return say_and_end(wire::session_close::overloaded, "closed",
                       "no session can begin now; retry");
  }
  welcome_ = reply.body;
  silence_ = limits_.missed_heartbeats *
             milliseconds{seconds{welcome->heartbeat_seconds}};
  if (!doubted_meanwhile_)
    return run();
  // What the notice was about may have come before the hello or after it.
  good_by_ = steady::now() + limits_.doubt;
  check();
  arm();
}

void node_session::run() {
  phase_ = phase::running;
  auto socket = socket_.lock();
  if (!socket)
    return;
  socket->send(std::exchange(welcome_, {}));
  expect_frame();
  fetch();
}

// Doubts.

void node_session::check() {
  if (checking_)
    return;
  checking_ = true;
  doubted_meanwhile_ = false;
  ask(session_calls::rank::check, actors::daemon_request::check_session,
      wire::encode(wire::session_check{peer_.session_id, peer_.node_id}),
      [](node_session& self, const actors::daemon_reply& reply) {
        self.on_checked(reply.status);
      });
}

void node_session::on_checked(int status) {
  checking_ = false;
  if (phase_ == phase::ending)
    return;
  if (status == 403)
    return end_refused("this identity is not a node's any more");
  if (status == 409)
    return say_and_end(wire::session_close::superseded, "superseded",
                       "a newer session took over");
  if (!is_good(status)) {
    check_at_ = steady::now() + limits_.ask_again;
    return arm();
  }
  if (doubted_meanwhile_)
    return check();
  good_by_.reset();
  if (std::exchange(check_twice_, false))
    check_at_ = steady::now() + second_look;
  if (phase_ == phase::asking)
    run();
  arm();
}

// Ending.

void node_session::say_and_end(wire::session_close code, std::string reason,
                               std::string why) {
  if (phase_ == phase::ending)
    return;
  phase_ = phase::ending;
  reason_ = std::move(reason);
  if (auto socket = socket_.lock())
    socket->close(static_cast<std::uint16_t>(code), std::move(why));
}

bool node_session::is_expired() const {
  return system_clock{}.now() >= peer_.not_after;
}

void node_session::end_expired() {
  say_and_end(wire::session_close::going_away, "closed",
              "the certificate has expired");
}

// The join service refuses a certificate that is over too; its node may well
// have another.
void node_session::end_refused(const char* why) {
  if (is_expired())
    return end_expired();
  say_and_end(wire::session_close::refused, "cut", why);
}

void node_session::bad_frame(std::string why) {
  say_and_end(wire::session_close::bad_frame, "closed", std::move(why));
}

void node_session::relay_end(const std::string& reason) {
  calls_->end(
      wire::encode(wire::session_end{peer_.session_id, peer_.node_id, reason}),
      peer_.certificate);
}

void node_session::expect_frame() {
  frame_by_ = steady::now() + silence_;
  arm();
}

void node_session::arm() {
  auto next = frame_by_;
  if (good_by_)
    next = std::min(next, *good_by_);
  if (check_at_)
    next = std::min(next, *check_at_);
  if (fetch_at_)
    next = std::min(next, *fetch_at_);
  const auto now = steady::now();
  auto wait = std::min(
      std::chrono::ceil<milliseconds>(next - now),
      std::chrono::ceil<milliseconds>(peer_.not_after - system_clock{}.now()));
  if (auto socket = socket_.lock())
    socket->expire_in(std::max(wait, milliseconds{0}));
}

void node_session::ask(session_calls::rank r, actors::daemon_request what,
                       std::string body, on_reply on_answer) {
  calls_->ask(r, what, std::move(body), peer_.certificate, socket_,
              [self = shared_from_this(),
               on_answer = std::move(on_answer)](actors::daemon_reply reply) {
                self->on_strand([self, on_answer, reply = std::move(reply)] {
                  on_answer(*self, reply);
                });
              });
}

}  // namespace bc::gateway
