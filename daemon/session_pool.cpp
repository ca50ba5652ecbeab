// Asio 1.74 uses std::exchange without including it.
#include "daemon/session_begin.hpp"
#include "daemon/session_client.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <list>
#include <optional>
#include <thread>
#include <utility>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
using end = session_outcome::end;

}  // namespace

session_outcome run_session(const config& c, const node_identity& me,
                            const std::string& bcd_version,
                            const session_hooks& hooks, std::stop_token stop) {
  auto to = parse_gateway_url(c.gateway_url);
  if (!to)
    return {end::unreachable, to.error().message, false};
  if (stop.stop_requested())
    return {end::stopped, "stopped", false};
  session_outcome out;
  // Asio reports by exception what it cannot set up (no memory, no descriptor).
  try {
    asio::io_context io{1};
    auto leave = begin_session(
        io, c, std::move(to).value(), me.clone(), bcd_version, hooks,
        [&out](session_outcome how) { out = std::move(how); });
    std::stop_callback on_stop{stop, leave};
    io.run();
  } catch (const std::exception& e) {
    return {end::lost, e.what(), false};
  }
  return out;
}

struct session_pool::parts {
  using leave_on_stop = std::stop_callback<std::function<void()>>;

  parts() : thread([this] { run(); }) {}

  // On the thread of the pool.
  void begin(const config& c, node_identity me, std::string version,
             session_hooks hooks, const std::stop_token& stop,
             const std::function<void(session_outcome)>& done) {
    auto to = parse_gateway_url(c.gateway_url);
    if (!to)
      return done({end::unreachable, to.error().message, false});
    if (stop.stop_requested() || all.stop_requested())
      return done({end::stopped, "stopped", false});
    // They end before the session's end is told: a stop has nothing to call
    // then.
    auto stops = std::make_shared<std::list<leave_on_stop>>();
    auto told = std::make_shared<bool>(false);
    auto tell = [stops, told, done](session_outcome how) {
      stops->clear();
      if (!std::exchange(*told, true))
        done(std::move(how));
    };
    try {
      auto leave = begin_session(io, c, std::move(to).value(), std::move(me),
                                 std::move(version), std::move(hooks), tell);
      if (*told)
        return;
      stops->emplace_back(stop, leave);
      stops->emplace_back(all.get_token(), leave);
    } catch (const std::exception& e) {
      tell({end::lost, e.what(), false});
    }
  }

  void run() {
    for (;;)
      try {
        io.run();
        return;
      } catch (const std::exception&) {
        // Its session ends as lost; the others go on.
      }
  }

  asio::io_context io{1};
  std::stop_source all;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>>
      open{io.get_executor()};
  std::thread thread;
};

session_pool::session_pool() : parts_(std::make_unique<parts>()) {}

session_pool::~session_pool() {
  parts_->all.request_stop();
  parts_->open.reset();
  parts_->thread.join();
}

void session_pool::begin(config c, node_identity me, std::string bcd_version,
                         session_hooks hooks, std::stop_token stop,
                         std::function<void(session_outcome)> done) {
  // A handler of Asio is copied; an identity is not.
  auto shared = std::make_shared<node_identity>(std::move(me));
  asio::post(parts_->io,
             [p = parts_.get(), c = std::move(c), shared,
              version = std::move(bcd_version), hooks = std::move(hooks),
              stop = std::move(stop), done = std::move(done)] {
               p->begin(c, std::move(*shared), version, hooks, stop, done);
             });
}

}  // namespace bc::daemon
