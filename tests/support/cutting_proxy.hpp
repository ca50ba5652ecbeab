#pragma once

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bc::testing {

/// Stands between a program and Postgres on a Unix socket, and cuts one
/// connection at the moment it is told to, or answers nothing any more.
class cutting_proxy {
 public:
  enum class cut {
    none,
    request,  // never reaches the server, which sees the connection end
    hang_up,  // reaches the server; the program loses the connection at once
    answer,   // is answered, and the answer gets lost
    silence,  // never reaches the server, and nobody says so: both ends stay
    mute      // reaches the server, whose answers stay away from then on
  };

  /// Listens in `dir` in place of the server whose socket is in `server_dir`.
  cutting_proxy(const std::string& dir, const std::string& server_dir)
      : server_(socket_in(server_dir)), listener_(make_socket()) {
    auto at = address(socket_in(dir));
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) ==
            0);
    REQUIRE(::listen(listener_, 64) == 0);
    acceptor_ = std::thread{[this] { accept(); }};
  }
  cutting_proxy(const cutting_proxy&) = delete;
  cutting_proxy& operator=(const cutting_proxy&) = delete;
  ~cutting_proxy() {
    stop_ = true;
    acceptor_.join();
    for (auto& t : links_)
      t.join();
    ::close(listener_);
  }

  /// The nth request from now, of any connection, is cut; then no more.
  void arm(cut how, int nth) {
    countdown_ = nth;
    how_ = how;
  }
  [[nodiscard]] bool has_cut() const { return how_ == cut::none; }
  /// Nobody is answered, old connections or new, until thaw().
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  static std::string socket_in(const std::string& dir) {
    return dir + "/.s.PGSQL.5432";
  }
  static int make_socket() {
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0);
    return fd;
  }
  static sockaddr_un address(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    return at;
  }
  static bool readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 20) > 0;
  }

  void accept() {
    while (!stop_) {
      if (!readable(listener_))
        continue;
      int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0)
        continue;
      ++connections_;
      links_.emplace_back([this, client] { link(client); });
    }
  }

  void link(int client) {
    int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto at = address(server_);
    if (::connect(server, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0)
      pump(client, server);
    ::close(server);
    ::close(client);
  }

  // A request begins when the program speaks after the server did.
  void pump(int client, int server) {
    bool asking = false;
    cut now = cut::none;
    std::array<char, 65536> buffer{};
    while (!stop_) {
      std::array<pollfd, 2> p{pollfd{client, POLLIN, 0},
                              pollfd{server, POLLIN, 0}};
      if (now == cut::hang_up)
        p[0].fd = -1;
      if (now == cut::silence || now == cut::mute)
        p[1].fd = -1;
      if (::poll(p.data(), p.size(), 20) <= 0)
        continue;
      if (p[0].revents != 0) {
        auto n = ::read(client, buffer.data(), buffer.size());
        if (n <= 0)
          return;
        if (now == cut::silence)
          continue;
        if (!std::exchange(asking, true))
          now = frozen_ ? cut::silence : next_cut();
        if (now == cut::silence)
          continue;
        if (now == cut::request || !send_all(server, buffer.data(), n))
          return;
        // What was asked in one round trip is small enough for one read.
        if (now == cut::hang_up)
          ::shutdown(client, SHUT_RDWR);
      }
      if (p[1].revents != 0) {
        auto n = ::read(server, buffer.data(), buffer.size());
        if (n <= 0 || now == cut::answer)
          return;
        asking = false;
        if (now != cut::hang_up && !send_all(client, buffer.data(), n))
          return;
      }
    }
  }

  cut next_cut() {
    if (how_ == cut::none || --countdown_ > 0)
      return cut::none;
    return how_.exchange(cut::none);
  }

  static bool send_all(int fd, const char* data, ssize_t size) {
    while (size > 0) {
      auto n = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      data += n;
      size -= n;
    }
    return true;
  }

  std::string server_;
  int listener_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> frozen_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> countdown_{0};
  std::atomic<cut> how_{cut::none};
  std::list<std::thread> links_;
  std::thread acceptor_;
};

}  // namespace bc::testing
