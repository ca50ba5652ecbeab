#pragma once

#include "daemon/tpm_join.hpp"
#include "tests/daemon/fake_attestor.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bc::testing {

/// A machine with a TPM, and the gateway that it joins by.
struct tpm_join_world {
  temporary_folder folder;
  fake_gateway gateway;
  fake_attestor server{gateway};
  fake_machine machine;
  daemon::config configured = gateway.config(folder);
  std::shared_ptr<soft_keeper> tpm = std::make_shared<soft_keeper>();
  std::vector<std::string> said;
  bool until_decided = false;
  bool reset = false;
  std::string recorded = {};
  std::function<void()> while_waiting = {};
  std::vector<milliseconds> waits;

  daemon::join_outcome join() {
    auto options = gateway.options();
    options.send = [this](std::string_view body) {
      return server.join(wire::decode_join_request(body).value());
    };
    options.wait = [this](milliseconds time) {
      waits.push_back(time);
      if (while_waiting)
        while_waiting();
    };
    options.say = [this](const std::string& line) { said.push_back(line); };
    options.keys = daemon::machine_keys{tpm, true};
    options.evidence = daemon::tpm_join_evidence(
        configured, {tpm,
                     [this](std::string_view path, std::string_view body) {
                       return server.post(path, body);
                     },
                     recorded, options.say});
    options.without_token = true;
    options.until_decided = until_decided;
    options.reset = reset;
    return daemon::run_join(
        configured, machine,
        []() -> result<secret_bytes> {
          FAIL("asked for a token");
          return fail(errc::internal, "");
        },
        options);
  }
  void defer(int times = 1) {
    for (int i = 0; i < times; ++i)
      server.join_script.push_back(
          [](auto& s, const auto& r) { return s.deferred(r); });
  }
  void challenge(fake_attestor::challenge_reply reply) {
    server.challenge_script.push_back(std::move(reply));
  }
  [[nodiscard]] bool pending() const {
    return std::filesystem::exists(folder / "data/csr.pending");
  }
  [[nodiscard]] int said_so(const std::string& what) const {
    int out = 0;
    for (const auto& line : said)
      out += line.find(what) != std::string::npos ? 1 : 0;
    return out;
  }
};

}  // namespace bc::testing
