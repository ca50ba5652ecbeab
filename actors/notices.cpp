#include "actors/notices.hpp"

#include "events/command.hpp"
#include "events/command_output.hpp"
#include "events/event_names.hpp"
#include "events/node.hpp"

#include <spdlog/spdlog.h>

#include <utility>
#include <variant>

namespace bc::actors {

namespace {

namespace node = events::node;

gateway_notice cut(const node_id& id) {
  gateway_notice n;
  n.what = gateway_notice::kind::cut;
  n.node_id = id.str();
  return n;
}

std::optional<gateway_notice> notice_of(const node::connected& c) {
  // Also after none that is known of: a gateway that was given up may have one
  // still.
  auto n = cut(c.id);
  n.keep = c.session;
  n.superseded = true;
  return n;
}

std::optional<gateway_notice> notice_of(const node::certificate_revoked& r) {
  return cut(r.id);
}

std::optional<gateway_notice> notice_of(const node::retired& r) {
  return cut(r.id);
}

template <class Event>
std::optional<gateway_notice> notice_of(const Event&) {
  return std::nullopt;
}

std::optional<gateway_notice> untold(const events::envelope& e,
                                     const fault& why) {
  spdlog::error("event {}: {}: gateways are not told", e.position, why.message);
  return std::nullopt;
}

std::optional<gateway_notice> of_command(const events::envelope& e) {
  auto event = events::command::decode(e);
  if (!event)
    return untold(e, event.error());
  const auto* over = std::get_if<events::command::completed>(&event.value());
  // Acceptance has another round then.
  if (over != nullptr && !events::was_not_run(over->succeeded, over->output))
    return std::nullopt;
  gateway_notice n;
  n.what = gateway_notice::kind::commands;
  n.node_id = std::visit([](const auto& what) { return what.node.str(); },
                         event.value());
  return n;
}

}  // namespace

std::optional<gateway_notice> notice_of(const events::envelope& e) {
  if (e.type == events::name::command_enqueued ||
      e.type == events::name::command_completed)
    return of_command(e);
  if (e.type != events::name::node_connected &&
      e.type != events::name::certificate_revoked &&
      e.type != events::name::node_retired)
    return std::nullopt;
  auto event = node::decode(e);
  if (!event)
    return untold(e, event.error());
  return std::visit([](const auto& what) { return notice_of(what); },
                    event.value());
}

// Recursive: a watcher may end its own watch.
struct notices::watcher {
  std::recursive_mutex mutex;
  hear each;  // empty once the watch is gone
};

std::shared_ptr<void> notices::watch(hear each) {
  auto made = std::make_shared<watcher>();
  made->each = std::move(each);
  {
    std::lock_guard lock{mutex_};
    std::erase_if(watchers_, [](const auto& w) { return w.expired(); });
    watchers_.push_back(made);
  }
  return {made.get(), [made](void*) {
            std::lock_guard lock{made->mutex};
            made->each = nullptr;
          }};
}

std::vector<std::shared_ptr<notices::watcher>> notices::all() {
  std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<watcher>> out;
  for (const auto& w : watchers_)
    if (auto one = w.lock())
      out.push_back(std::move(one));
  return out;
}

milliseconds notices::age() const {
  const auto as_of = as_of_.load();
  if (as_of == nobody_else)
    return milliseconds{0};
  return std::chrono::duration_cast<milliseconds>(
      steady::now().time_since_epoch() - as_of);
}

void notices::tailed(steady::time_point as_of) {
  as_of_ = as_of.time_since_epoch();
}

void notices::hear_of(const events::envelope& e) {
  auto n = notice_of(e);
  if (!n)
    return;
  for (const auto& w : all()) {
    std::lock_guard lock{w->mutex};
    try {
      // A copy: it may be taken away while it runs.
      if (auto each = w->each)
        each(*n);
    } catch (const std::exception& error) {
      spdlog::error("a gateway's watch failed: {}", error.what());
    }
  }
}

}  // namespace bc::actors
