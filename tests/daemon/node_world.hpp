#pragma once

#include "daemon/node.hpp"
#include "tests/daemon/fake_rejoins.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

/// A daemon on the machine's clocks whose server is in the same process.
struct node_world {
  temporary_folder folder;
  virtual_world time{bc::system_clock{}.now()};
  fake_renewals server{time};
  bc::daemon::config config = server.gateway.config(folder);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
  std::vector<std::string> notices;
  bc::daemon::node_options options;
  std::stop_source stop;

  node_world() {
    // The gateway's certificate must be good by the machine's clock.
    server.gateway.server =
        bc::pki::issue_server_certificate(server.gateway.keys.serving_ca,
                                          {"gw.example.com"}, time.server)
            .value();
    options.say = [this](const std::string& line) { note(said, line); };
    options.notify = [this](const std::string& s) { note(notices, s); };
    options.send = [this](std::string_view body,
                          const bc::daemon::node_identity* me) {
      std::lock_guard lock{mutex};
      time.server = bc::system_clock{}.now();
      return server.take(body, me);
    };
  }
  void note(std::vector<std::string>& where, const std::string& what) {
    {
      std::lock_guard lock{mutex};
      where.push_back(what);
    }
    changed.notify_all();
  }
  void join_since(bc::milliseconds ago) {
    time.server = bc::system_clock{}.now() - ago;
    auto me = server.identity();
    auto store = bc::daemon::identity_store::open(config.data_dir).value();
    REQUIRE(store.keep(me.key, me.who));
  }
  // Until a line with this text was said.
  void wait_for(std::vector<std::string>& where, const std::string& text) {
    std::unique_lock lock{mutex};
    REQUIRE(changed.wait_for(lock, bc::seconds{60}, [&] {
      return std::any_of(where.begin(), where.end(), [&](const auto& line) {
        return line.find(text) != std::string::npos;
      });
    }));
  }
  bc::daemon::node_exit run() {
    return bc::daemon::run_node(config, options, stop.get_token());
  }
};
