#pragma once

#include "gateway/relay_link.hpp"
#include "gateway/tls_context.hpp"
#include "tests/gateway/relay_support.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace bc::gateway::testing {

/// An API process that does as the test says.
class fake_api {
 public:
  using on_message = std::function<void(relay_link&, const relay::message&)>;

  fake_api(const relay_world& w, std::shared_ptr<const tls_identity> identity,
           on_message act)
      : act_(std::move(act)),
        acceptor_(io_, boost::asio::ip::tcp::endpoint{
                           boost::asio::ip::address_v4::loopback(), 0}) {
    auto tls = make_server_tls(
        *identity,
        {pki::certificate_pem(w.keys->internal_ca.certificate), true});
    REQUIRE(tls);
    tls_ = std::make_shared<boost::asio::ssl::context>(std::move(tls).value());
    speak_relay(*tls_, true);
    accept();
    thread_ = std::thread{[this] { io_.run(); }};
  }
  ~fake_api() {
    boost::asio::post(io_, [this] {
      acceptor_.close();
      for (const auto& weak : users_)
        if (auto user = weak.lock(); user && user->link) {
          auto link = user->link;  // its closing lets go of it
          link->close("the test is over");
        }
    });
    thread_.join();
  }

  [[nodiscard]] std::uint16_t port() const {
    return acceptor_.local_endpoint().port();
  }
  std::atomic<int> connections{0};

 private:
  struct one final : relay_link::user {
    fake_api* api = nullptr;
    std::shared_ptr<relay_link> link;
    bool on_open(const std::string&) override {
      ++api->connections;
      return true;
    }
    void on_message(relay::message m) override { api->act_(*link, m); }
    void on_closed(const std::string&) override { link = nullptr; }
  };

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code ec,
                                  boost::asio::ip::tcp::socket socket) {
      if (ec)
        return;
      auto user = std::make_shared<one>();
      user->api = this;
      users_.push_back(user);
      user->link = accept_relay_link(std::move(socket), tls_, {}, user);
      accept();
    });
  }

  on_message act_;
  std::vector<std::weak_ptr<one>> users_;
  boost::asio::io_context io_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

/// Answers pings, and requests by `act`.
inline fake_api::on_message with_pongs(fake_api::on_message act) {
  return [act](relay_link& link, const relay::message& m) {
    if (const auto* live = std::get_if<relay::ping>(&m))
      link.send(relay::encode(relay::pong{live->number}));
    else
      act(link, m);
  };
}

}  // namespace bc::gateway::testing
