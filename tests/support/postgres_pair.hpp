#pragma once

#include "tests/support/eventually.hpp"
#include "tests/support/postgres.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace bc::testing {

/// A TCP port of 127.0.0.1 that nothing listens on now.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  REQUIRE(::bind(fd, address, size) == 0);
  REQUIRE(::getsockname(fd, address, &size) == 0);
  ::close(fd);
  return ntohs(at.sin_port);
}

/// A primary and its hot standby on TCP ports of this host.
struct postgres_pair {
  /// `names`: synchronous_standby_names of the primary; empty: a commit waits
  /// for no standby.
  explicit postgres_pair(const std::string& names) {
    // Not of the standby, which was made before.
    if (!names.empty()) {
      run_script(
          primary.url(),
          "alter system set synchronous_standby_names = '" + names + "'");
      run_script(primary.url(), "select pg_reload_conf()");
    }
    const std::string state = names.empty() ? "async" : "sync";
    REQUIRE(test::eventually([&] {
      return ask(primary.url(),
                 "select coalesce(max(sync_state), '') from "
                 "pg_stat_replication where state = 'streaming'") == state;
    }));
  }

  /// Both, in this order: the one that takes writes is meant.
  [[nodiscard]] std::string url() const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(first_port) +
           ",127.0.0.1:" + std::to_string(second_port) + "/postgres";
  }
  void fail_over() {
    primary.stop("immediate");
    standby.promote();
  }

  static std::string on(int port) {
    return "shared_buffers=32MB listen_addresses=127.0.0.1 port=" +
           std::to_string(port);
  }

  int first_port = free_port();
  postgres_server primary{on(first_port)};
  int second_port = free_port();
  postgres_server standby{postgres_server::standby_of{primary},
                          on(second_port)};
};

}  // namespace bc::testing
