#include "gateway/event_stream.hpp"

#include "base/secret_bytes.hpp"
#include "gateway/event_page.hpp"
#include "gateway/event_query.hpp"
#include "gateway/routes.hpp"
#include "gateway/stream_places.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

using steady = std::chrono::steady_clock;

constexpr int page_size = 200;
constexpr int http_ok = 200;
constexpr std::string_view stopping_text = "The server is stopping";
// A client that is this far behind is not given more until it caught up.
constexpr std::size_t far_behind = 256 * 1024;

/// One client's stream. One thread at a time has it: the feed's, or the one
/// that brings a page.
struct subscription {
  ~subscription() {
    if (placed)
      placed->give_back(owner);
  }

  actors::api_port* api = nullptr;
  secret_bytes authorization;
  std::string owner;  // the credential's id
  event_query query;
  std::string request_id;
  std::shared_ptr<stream_places> placed;  // set while a place is taken
  std::shared_ptr<response_stream> out;
  steady::time_point last_write;
  steady::time_point due;
  bool wakeable = false;
  std::uint64_t wakes_seen = 0;  // when the last page was asked for
  int failures = 0;
};
using subscription_ptr = std::unique_ptr<subscription>;

bool is_ours(int status) {
  return status >= 500 || status == http_status(errc::rate_limited);
}

http_response refused(errc code, std::string_view why,
                      const std::string& request_id) {
  http_response out;
  out.status = http_status(code);
  out.body = error_body(wire_text(code), why, request_id);
  return out;
}

/// What the feed's thread and the callbacks of its calls share, so that a
/// callback which comes late finds it still there.
class core : public std::enable_shared_from_this<core> {
 public:
  explicit core(event_feed_options options)
      : options_(options),
        places_(std::make_shared<stream_places>(
            options.max_streams, options.max_streams_per_credential)) {}

  void open(actors::api_port& api, const http_request& request,
            std::string request_id, respond done);

  void wake() {
    wakes_.fetch_add(1);
    if (woken_.exchange(true))
      return;
    // The thread is before its look at `woken_`, or waits.
    { std::lock_guard lock{mutex_}; }
    changed_.notify_one();
  }

  std::size_t open_streams() const { return places_->taken(); }

  bool is_stopping() {
    std::lock_guard lock{mutex_};
    return stopping_;
  }

  /// Looks after every stream until stop().
  void run();
  void stop();

 private:
  std::vector<subscription_ptr> take_due(std::unique_lock<std::mutex>& lock);
  void advance(subscription_ptr s);
  void ask(subscription_ptr s);
  void first_page(subscription_ptr s, actors::api_reply reply,
                  const respond& done);
  void next_page(subscription_ptr s, const actors::api_reply& reply);
  bool beat(subscription& s);
  milliseconds go_on_from(subscription& s, const event_page& page);
  void wait_again(subscription_ptr s, milliseconds delay, bool wakeable);
  static bool write(subscription& s, std::string text);
  static actors::api_call call_of(const subscription& s);

  const event_feed_options options_;
  std::shared_ptr<stream_places> places_;
  std::atomic<std::uint64_t> wakes_{0};
  std::atomic<bool> woken_{false};
  std::shared_mutex asking_;  // shared while open() asks
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<subscription_ptr> waiting_;
};

actors::api_call core::call_of(const subscription& s) {
  actors::api_call call;
  call.group = "events";
  call.method = "list";
  call.authorization = std::string{s.authorization.expose_text()};
  call.body = s.query.list_body(page_size);
  call.request_id = s.request_id;
  return call;
}

void core::open(actors::api_port& api, const http_request& request,
                std::string request_id, respond done) {
  auto query = read_event_query(request);
  if (!query)
    return done(refused(query.error().code, query.error().message, request_id));
  auto s = std::make_unique<subscription>();
  s->api = &api;
  auto held = request.headers.find("authorization");
  if (held != request.headers.end())
    s->authorization = secret_bytes{std::string_view{held->second}};
  auto text = s->authorization.expose_text();
  s->owner = std::string{text.substr(0, text.find('.'))};
  s->query = std::move(query).value();
  s->request_id = std::move(request_id);
  s->wakes_seen = wakes_.load();
  auto call = call_of(*s);
  // stop() returns after this, or comes before it.
  std::shared_lock gate{asking_};
  if (is_stopping())
    return done(refused(errc::unavailable, stopping_text, s->request_id));
  // A callback must be copyable.
  auto shared = std::make_shared<subscription_ptr>(std::move(s));
  api.call(std::move(call), [self = shared_from_this(), shared,
                             done = std::move(done)](actors::api_reply reply) {
    self->first_page(std::move(*shared), std::move(reply), done);
  });
}

// What the API refuses is answered as it is; a place is taken only by who may
// read.
void core::first_page(subscription_ptr s, actors::api_reply reply,
                      const respond& done) {
  http_response out;
  if (reply.status != http_ok) {
    out.status = reply.status;
    out.body = std::move(reply.body);
    return done(std::move(out));
  }
  auto read = read_event_page(reply.body, s->query.cursor, page_size);
  if (!read)
    return done(refused(errc::internal,
                        "The service failed; the request id is in its log",
                        s->request_id));
  if (is_stopping())
    return done(refused(errc::unavailable, stopping_text, s->request_id));
  if (!places_->take(s->owner))
    return done(refused(
        errc::rate_limited,
        "Too many event streams are open; close one, or use events.list",
        s->request_id));
  s->placed = places_;
  auto delay = go_on_from(*s, read.value());
  out.content_type = "text/event-stream";
  out.headers["x-accel-buffering"] = "no";
  // A client that lost the stream comes back after a second.
  out.body = "retry: 1000\n\n" + read.value().frames;
  auto shared = std::make_shared<subscription_ptr>(std::move(s));
  out.stream = [self = shared_from_this(), shared,
                delay](std::shared_ptr<response_stream> rest) {
    if (!*shared)
      return;
    auto mine = std::move(*shared);
    mine->out = std::move(rest);
    mine->last_write = steady::now();
    self->wait_again(std::move(mine), delay, true);
  };
  done(std::move(out));
}

void core::next_page(subscription_ptr s, const actors::api_reply& reply) {
  if (reply.status != http_ok) {
    if (is_ours(reply.status) && ++s->failures < options_.max_failures)
      return wait_again(std::move(s), options_.after_failure, false);
    // The client comes back, and reads why.
    spdlog::info("event stream ended: the API answered {} ({})", reply.status,
                 s->request_id);
    return s->out->end();
  }
  auto read = read_event_page(reply.body, s->query.cursor, page_size);
  if (!read) {
    spdlog::error("event stream ended: {} ({})", read.error().message,
                  s->request_id);
    return s->out->end();
  }
  s->failures = 0;
  auto delay = go_on_from(*s, read.value());
  if (!read.value().frames.empty() &&
      !write(*s, std::move(read.value().frames)))
    return;
  wait_again(std::move(s), delay, true);
}

// Only what a bound cut off is asked for at once: the cursor moves with every
// tenant's commits.
milliseconds core::go_on_from(subscription& s, const event_page& page) {
  auto moved = page.cursor != s.query.cursor;
  s.query.cursor = page.cursor;
  if (page.more)
    return milliseconds{0};
  return moved ? options_.pause : options_.poll;
}

bool core::write(subscription& s, std::string text) {
  s.last_write = steady::now();
  return s.out->write(std::move(text));
}

// A comment keeps proxies from closing; the id lets the client resume beyond
// what was not for it.
bool core::beat(subscription& s) {
  if (steady::now() - s.last_write < options_.heartbeat)
    return true;
  return write(s, ":\nid: " + s.query.cursor + "\n\n");
}

void core::advance(subscription_ptr s) {
  auto unsent = s->out->unsent();
  if (!unsent)
    return;
  if (!beat(*s))
    return;
  if (*unsent > far_behind)
    return wait_again(std::move(s), options_.pause, false);
  ask(std::move(s));
}

void core::ask(subscription_ptr s) {
  s->wakes_seen = wakes_.load();
  auto* api = s->api;
  auto call = call_of(*s);
  auto shared = std::make_shared<subscription_ptr>(std::move(s));
  api->call(std::move(call), [self = shared_from_this(),
                              shared](const actors::api_reply& reply) {
    self->next_page(std::move(*shared), reply);
  });
}

void core::wait_again(subscription_ptr s, milliseconds delay, bool wakeable) {
  const auto now = steady::now();
  s->due = now + delay;
  s->wakeable = wakeable;
  {
    std::lock_guard lock{mutex_};
    // A wake from here on finds it waiting.
    if (wakeable && s->wakes_seen != wakes_.load())
      s->due = std::min(s->due, now + options_.pause);
    if (!stopping_)
      waiting_.push_back(std::move(s));
  }
  if (s)
    return s->out->end();
  changed_.notify_one();
}

// Those whose time has come; waits for it, or for a wake.
std::vector<subscription_ptr> core::take_due(
    std::unique_lock<std::mutex>& lock) {
  const auto now = steady::now();
  const bool woken = woken_.exchange(false);
  auto next = now + options_.heartbeat;
  std::vector<subscription_ptr> due;
  for (auto& s : waiting_) {
    if (woken && s->wakeable)
      s->due = std::min(s->due, now + options_.pause);
    if (s->due <= now)
      due.push_back(std::move(s));
    else
      next = std::min(next, s->due);
  }
  std::erase(waiting_, nullptr);
  if (due.empty())
    changed_.wait_until(lock, next);
  return due;
}

void core::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    auto due = take_due(lock);
    lock.unlock();
    for (auto& s : due)
      advance(std::move(s));
    lock.lock();
  }
}

void core::stop() {
  std::vector<subscription_ptr> rest;
  {
    std::lock_guard none_asks{asking_};
    std::lock_guard lock{mutex_};
    stopping_ = true;
    rest.swap(waiting_);
  }
  changed_.notify_all();
  for (auto& s : rest)
    s->out->end();
}

class feed final : public event_feed {
 public:
  explicit feed(event_feed_options options)
      : core_(std::make_shared<core>(options)),
        thread_([streams = core_] { streams->run(); }) {}

  ~feed() override { stop(); }

  void open(actors::api_port& api, const http_request& request,
            std::string request_id, respond done) override {
    core_->open(api, request, std::move(request_id), std::move(done));
  }

  void wake() override { core_->wake(); }

  std::size_t open_streams() const override { return core_->open_streams(); }

  void stop() override {
    core_->stop();
    std::lock_guard once{joining_};
    if (thread_.joinable())
      thread_.join();
  }

 private:
  std::shared_ptr<core> core_;
  std::mutex joining_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<event_feed> event_feed::start(event_feed_options options) {
  return std::make_shared<feed>(options);
}

}  // namespace bc::gateway
