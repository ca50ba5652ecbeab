#include "gateway/relay_trial.hpp"

#include "gateway/reason.hpp"
#include "gateway/url.hpp"
#include "pki/internal.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace bc::gateway {

using tcp = boost::asio::ip::tcp;
using boost::system::error_code;

relay_trial::relay_trial(boost::asio::io_context& io,
                         const api_address& address,
                         const relay_client_options& options, relay_tls tls)
    : options_(options),
      address_(address),
      name_(authority_of(address.host, address.port)),
      tls_(std::move(tls)),
      resolver_(io) {}

void relay_trial::start() {
  resolver_.async_resolve(
      address_.host, std::to_string(address_.port),
      [self = shared_from_this()](error_code ec,
                                  const tcp::resolver::results_type& found) {
        if (self->ended_)
          return;
        if (ec)
          return self->end("its name is not resolved: " + reason_of(ec));
        std::vector<tcp::endpoint> to;
        for (const auto& entry : found)
          to.push_back(entry.endpoint());
        const auto& o = self->options_;
        self->link_ = open_relay_link(self->resolver_.get_executor(),
                                      std::move(to), self->tls_.context,
                                      {relay::max_message, o.max_queued_bytes,
                                       o.connect_timeout, o.ping_timeout},
                                      self);
      });
}

void relay_trial::stop() {
  ended_ = true;
  resolver_.cancel();
  if (link_)
    link_->close("it is over");
}

bool relay_trial::on_open(const std::string& certificate) {
  if (pki::internal_role_of(as_bytes(certificate), tls_.internal_cas) !=
      pki::internal_role::api)
    return false;
  // Its pong alone says that it took our certificate.
  return link_->send(relay::encode(relay::ping{1}));
}

void relay_trial::on_message(relay::message m) {
  if (std::holds_alternative<relay::pong>(m))
    end({});
}

void relay_trial::on_closed(const std::string& why) {
  link_ = nullptr;
  end(why);
}

void relay_trial::end(const std::string& why) {
  if (std::exchange(ended_, true))
    return;
  if (why.empty())
    spdlog::info("relay: {} is reached by the certificate in its files", name_);
  else
    spdlog::warn("relay: {} is not reached by the certificate in its files: {}",
                 name_, why);
  if (link_)
    link_->close("it is over");
}

}  // namespace bc::gateway
