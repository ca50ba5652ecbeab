#pragma once

#include "daemon/helper_server.hpp"
#include "daemon/helper_socket.hpp"
#include "tests/daemon/soft_keeper.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

/// `bcd helper` in a test, and what it is asked.
namespace bc::testing {

// A helper on a thread of its own, ready when made.
struct running_helper {
  temporary_folder folder;
  std::filesystem::path socket = folder / "helper.sock";
  std::shared_ptr<soft_keeper> tpm = std::make_shared<soft_keeper>();
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::vector<std::string> said;
  std::stop_source stop;
  daemon::helper_options options;
  std::thread thread;

  using claims_reader = std::function<result<pki::hardware_claims>()>;
  explicit running_helper(uid_t user = ::geteuid(),
                          claims_reader hardware = {}) {
    options.hardware = std::move(hardware);
    options.socket = socket;
    options.user = user;
    options.patience = milliseconds{200};
    options.say = [this](const std::string& line) {
      std::lock_guard lock{mutex};
      said.push_back(line);
    };
    options.ready = [this] {
      std::lock_guard lock{mutex};
      ready = true;
      changed.notify_all();
    };
    thread = std::thread{
        [this] { CHECK(daemon::run_helper(options, *tpm, stop.get_token())); }};
    std::unique_lock lock{mutex};
    REQUIRE(changed.wait_for(lock, seconds{30}, [this] { return ready; }));
  }
  ~running_helper() {
    stop.request_stop();
    thread.join();
  }

  // What is answered to raw bytes; nullopt: the connection ended.
  [[nodiscard]] std::optional<bytes> say_raw(byte_view what,
                                             bool more = false) const {
    auto line = daemon::make_helper_socket();
    auto to = daemon::helper_address(socket).value();
    REQUIRE(::connect(line.fd(), reinterpret_cast<const sockaddr*>(&to),
                      sizeof to) == 0);
    daemon::limit(line, seconds{10});
    (void)daemon::send_all(line, what);
    if (!more)
      ::shutdown(line.fd(), SHUT_WR);
    return daemon::receive_frame(line, seconds{10});
  }
};

inline pki::hardware_claims some_claims() {
  pki::hardware_claims out;
  out.product_uuid = "9b1d2f3a-6c5e-4f70-8a91-b2c3d4e5f607";
  out.product_serial = "SN-8810";
  out.macs = {"3c:ec:ef:21:43:65"};
  out.hostname = "rack-c2-u07";
  return out;
}

}  // namespace bc::testing
