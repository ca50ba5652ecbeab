#pragma once

#include "gateway/relay_api.hpp"

#include <memory>
#include <string>

namespace bc::gateway {

/// One connection to an API process that carries nothing: whether a
/// certificate is taken there while the connection that stands goes on with
/// the one before; included by gateway/*.cpp alone. One thread. The log tells.
class relay_trial final : public relay_link::user,
                          public std::enable_shared_from_this<relay_trial> {
 public:
  /// `options` must outlive it.
  relay_trial(boost::asio::io_context& io, const api_address& address,
              const relay_client_options& options, relay_tls tls);

  void start();
  /// Without a word; a second call does nothing.
  void stop();

  bool on_open(const std::string& certificate) override;
  void on_message(relay::message m) override;
  void on_closed(const std::string& why) override;

 private:
  void end(const std::string& why);

  const relay_client_options& options_;
  const api_address address_;
  const std::string name_;
  const relay_tls tls_;
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<relay_link> link_;
  bool ended_ = false;
};

}  // namespace bc::gateway
