#include "gateway/relay_api.hpp"

#include "gateway/reason.hpp"
#include "gateway/url.hpp"
#include "pki/internal.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace bc::gateway {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

relay_api::relay_api(asio::io_context& io, const api_address& address,
                     const relay_client_options& options, relay_tls tls,
                     owner& whose)
    : options_(options),
      owner_(whose),
      address_(address),
      name_(authority_of(address.host, address.port)),
      tls_(std::move(tls)),
      resolver_(io),
      timer_(io),
      backoff_(options.first_backoff),
      random_(std::random_device{}()) {}

void relay_api::start() {
  connect();
}

void relay_api::stop() {
  stopped_ = true;
  timer_.cancel();
  resolver_.cancel();
  if (link_)
    link_->close("the gateway is stopping");
}

void relay_api::connect() {
  resolver_.async_resolve(
      address_.host, std::to_string(address_.port),
      [self = shared_from_this()](error_code ec,
                                  const tcp::resolver::results_type& found) {
        if (self->stopped_)
          return;
        if (ec) {
          self->say_lost("its name is not resolved: " + reason_of(ec));
          return self->connect_later();
        }
        std::vector<tcp::endpoint> to;
        for (const auto& entry : found)
          to.push_back(entry.endpoint());
        // Another one first each time: one that swallows everything would
        // take the whole time for itself.
        if (!to.empty())
          std::rotate(to.begin(),
                      to.begin() + static_cast<std::ptrdiff_t>(
                                       self->attempts_++ % to.size()),
                      to.end());
        const auto& o = self->options_;
        self->link_ = open_relay_link(self->timer_.get_executor(),
                                      std::move(to), self->tls_.context,
                                      {relay::max_message, o.max_queued_bytes,
                                       o.connect_timeout, o.ping_timeout},
                                      self);
      });
}

void relay_api::connect_later() {
  std::uniform_int_distribution<milliseconds::rep> jitter{backoff_.count() / 2,
                                                          backoff_.count()};
  timer_.expires_after(milliseconds{jitter(random_)});
  backoff_ = std::min(backoff_ * 2, options_.longest_backoff);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && !self->stopped_)
      self->connect();
  });
}

bool relay_api::send(std::uint64_t id, const std::string& frame) {
  if (!usable_ || in_flight_.size() >= options_.max_in_flight ||
      !link_->send(frame))
    return false;
  in_flight_.insert(id);
  return true;
}

bool relay_api::say(const std::string& frame) {
  return usable_ && link_->send(frame);
}

void relay_api::forget(std::uint64_t id) {
  in_flight_.erase(id);
  leave_when_done();
}

bool relay_api::on_open(const std::string& certificate) {
  if (pki::internal_role_of(as_bytes(certificate), tls_.internal_cas) !=
      pki::internal_role::api)
    return false;
  // In TLS 1.3 this side is done before the other has judged our certificate:
  // only its pong says that it took it.
  ping();
  return true;
}

void relay_api::ping() {
  (void)link_->send(relay::encode(relay::ping{++pings_}));
  timer_.expires_after(options_.ping_interval);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && self->link_)
      self->ping();
  });
}

void relay_api::on_message(relay::message m) {
  owner_.on_heard(*this);
  if (auto* a = std::get_if<relay::answer>(&m)) {
    owner_.on_answer(*this, std::move(*a));
  } else if (std::holds_alternative<relay::pong>(m)) {
    if (!draining_)
      set_usable(true);
  } else if (std::holds_alternative<relay::draining>(m)) {
    draining_ = true;
    set_usable(false);
    leave_when_done();
  } else if (auto* n = std::get_if<relay::notice>(&m)) {
    owner_.on_notice(*this, std::move(*n));
  } else if (std::holds_alternative<relay::watching>(m)) {
    owner_.on_watching(*this);
  } else {
    link_->close("it sent what a server must not send");
  }
}

void relay_api::on_closed(const std::string& why) {
  link_ = nullptr;
  timer_.cancel();
  set_usable(false);
  draining_ = false;
  auto lost = std::exchange(in_flight_, {});
  if (!stopped_) {
    say_lost(why);
    connect_later();
  }
  owner_.on_lost(*this, {lost.begin(), lost.end()});
}

void relay_api::leave_when_done() {
  if (draining_ && in_flight_.empty() && link_)
    link_->close("it is stopping");
}

void relay_api::set_usable(bool usable) {
  if (usable_ == usable)
    return;
  usable_ = usable;
  if (usable) {
    backoff_ = options_.first_backoff;
    last_trouble_.clear();
    spdlog::info("relay: connected to {}", name_);
  }
  owner_.on_health(usable ? 1 : -1);
}

// Once for each reason: what goes on failing says nothing new.
void relay_api::say_lost(const std::string& why) {
  if (why == last_trouble_)
    return;
  last_trouble_ = why;
  spdlog::warn("relay: no connection to {}: {}", name_, why);
}

}  // namespace bc::gateway
