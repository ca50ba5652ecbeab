#include "gateway/watch_keeper.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace bc::gateway {

namespace {

using steady = std::chrono::steady_clock;
using notice_kind = actors::gateway_notice::kind;

constexpr auto kind_cut = static_cast<std::uint8_t>(notice_kind::cut);
constexpr auto kind_commands = static_cast<std::uint8_t>(notice_kind::commands);

}  // namespace

void watch_keeper::start(relay_watch_times times, std::string frame,
                         std::shared_ptr<relay_watcher> who) {
  frame_ = std::move(frame);
  watcher_ = std::move(who);
  interval_ = times.silence / 8;
  watch_.emplace(times, steady::now());
  look_again();
}

void watch_keeper::stop() {
  watch_.reset();
  timer_.cancel();
}

relay_api* watch_keeper::usable() const {
  if (!watch_ || !watch_->held())
    return nullptr;
  auto* api = apis_[*watch_->held()].get();
  return api->is_usable() ? api : nullptr;
}

void watch_keeper::look_again() {
  look();
  timer_.expires_after(interval_);
  timer_.async_wait([this](boost::system::error_code ec) {
    if (!ec && watch_)
      look_again();
  });
}

void watch_keeper::look() {
  if (!watch_)
    return;
  const auto now = steady::now();
  if (watch_->is_lost(now)) {
    spdlog::warn("relay: no server tells what sessions must hear of");
    watcher_->on_watch(false);
  }
  std::vector<bool> usable;
  for (const auto& api : apis_)
    usable.push_back(api->is_usable());
  if (auto whom = watch_->ask(usable, now))
    (void)apis_[*whom]->say(frame_);
}

void watch_keeper::on_heard(const relay_api& from) {
  if (watch_)
    watch_->on_heard(index_of(from), steady::now());
}

void watch_keeper::on_watching(const relay_api& from) {
  if (watch_ && watch_->on_watching(index_of(from), steady::now()))
    watcher_->on_watch(true);
}

// Also from one that was watched before: what it says is true.
void watch_keeper::on_notice(relay::notice n) {
  if (!watch_ || (n.what != kind_cut && n.what != kind_commands))
    return;
  watcher_->on_notice({static_cast<notice_kind>(n.what), std::move(n.node),
                       std::move(n.keep), n.superseded});
}

void watch_keeper::on_gone(const relay_api& api) {
  if (!watch_)
    return;
  watch_->on_gone(index_of(api));
  look();
}

std::size_t watch_keeper::index_of(const relay_api& api) const {
  std::size_t at = 0;
  while (apis_[at].get() != &api)
    ++at;
  return at;
}

}  // namespace bc::gateway
