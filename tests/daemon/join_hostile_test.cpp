// spec: DESIGN section 7; CASES 14, 176. A gateway that does its worst.
#include "daemon/identity_store.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

using namespace bc;
using daemon::exchange;
using daemon::join_exit;
namespace fs = std::filesystem;

namespace {

struct world {
  temporary_folder folder;
  fake_gateway gateway;
  fake_machine machine;
  daemon::config config = gateway.config(folder);

  daemon::join_outcome join() {
    return daemon::run_join(config, machine, secret_bytes{fake_gateway::token},
                            gateway.options());
  }
  void answer(errc code, const std::string& message, int times = 1) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([=](auto& g, const auto& r) {
        auto a = g.failed(code, r, message);
        a.path = message;
        return g.answered(a);
      });
  }
  void lose(int times) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([](auto&, const auto&) {
        return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
      });
  }
  [[nodiscard]] fs::path pending() const { return folder / "data/csr.pending"; }
};

}  // namespace

TEST_CASE("join: what the server says cannot steer a terminal") {
  world w;
  auto code = GENERATE(errc::invalid_config, errc::invalid_input,
                       errc::conflict, errc::unavailable);
  w.answer(code, "\x1b[2J\r\n\xc2\x9b" + std::string(5000, 'x'), 4);
  auto message = w.join().message;
  CHECK(message.size() < 600);
  CHECK(std::all_of(message.begin(), message.end(),
                    [](char c) { return c >= ' ' && c <= '~'; }));
  CHECK_THAT(message, Catch::Contains("?[2J"));
}

TEST_CASE(
    "join: a certificate that is over by the signed time is no identity") {
  world w;
  // A whole answer, kept back by the gateway.
  const seconds shift{86'400};
  w.gateway.script.push_back([shift](auto& g, const auto& r) {
    auto a = g.joined(r);
    auto ms = to_millis(g.start + shift);
    auto sig = pki::sign(g.keys.join_signing.key, pki::purpose::server_time,
                         {as_bytes(std::to_string(ms)), pki::sha256(r.csr)});
    a.time = wire::server_time{ms, {sig.begin(), sig.end()}};
    auto e = g.answered(a);
    e.chain[0] = pki::issue_server_certificate(
                     g.keys.serving_ca, {"gw.example.com"}, g.start + shift)
                     .value()
                     .certificate;
    return e;
  });
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::untrusted);
  CHECK_THAT(outcome.message, Catch::Contains("validity"));
  CHECK_FALSE(fs::exists(w.folder / "data/identity.json"));
}

TEST_CASE("join: a lost answer outlives the wrong token (case 14)") {
  world w;
  w.lose(4);
  REQUIRE(w.join().exit_code == join_exit::unreachable);
  // Another token by mistake, then the first again.
  w.answer(errc::access_denied, "no");
  SECTION("at once") {
    CHECK(w.join().exit_code == join_exit::refused);
    CHECK(fs::exists(w.pending()));
    CHECK(w.join().exit_code == join_exit::joined);
    for (const auto& r : w.gateway.requests)
      CHECK(r.csr == w.gateway.requests[0].csr);
  }
  SECTION("when the server has forgotten it") {
    fs::last_write_time(w.pending(), fs::last_write_time(w.pending()) -
                                         std::chrono::seconds{605});
    CHECK(w.join().exit_code == join_exit::refused);
    CHECK_FALSE(fs::exists(w.pending()));
    CHECK(w.join().exit_code == join_exit::joined);
    CHECK(w.gateway.requests.back().csr != w.gateway.requests[0].csr);
  }
  SECTION("when it was asked for again in between") {
    fs::last_write_time(w.pending(), fs::last_write_time(w.pending()) -
                                         std::chrono::seconds{605});
    w.gateway.script.clear();
    w.lose(4);
    CHECK(w.join().exit_code == join_exit::unreachable);
    w.answer(errc::access_denied, "no");
    CHECK(w.join().exit_code == join_exit::refused);
    CHECK(fs::exists(w.pending()));
  }
}

TEST_CASE("join: an unsigned failure does not cost the answer (case 14)") {
  world w;
  auto code = GENERATE(errc::invalid_config, errc::invalid_input);
  w.gateway.script.push_back([code](auto& g, const auto& r) {
    auto a = g.failed(code, r);
    a.time.reset();
    return g.answered(a);
  });
  CHECK(w.join().exit_code != join_exit::joined);
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests[0].csr == w.gateway.requests[1].csr);
}

TEST_CASE("join: an answer to a swapped CSR is refused (cases 82, 176)") {
  world w;
  auto mallory = pki::private_key::generate();
  auto swapped = [&](wire::join_request r) {
    r.csr = pki::build_csr(mallory);
    return r;
  };
  std::string check;
  SECTION("its signed time is bound to the CSR the service saw") {
    check = "signature";
    w.gateway.script.push_back([&](auto& g, const auto& r) {
      return g.answered(g.joined(swapped(r)));
    });
  }
  SECTION("a time of ours grafted on: the body names the CSR") {
    check = "csr_sha256";
    w.gateway.script.push_back([&](auto& g, const auto& r) {
      auto a = g.joined(swapped(r));
      g.add_time(a, r.csr);
      return g.answered(a);
    });
  }
  SECTION("our hash in the body, another's certificate: the key is not ours") {
    check = "key";
    w.gateway.script.push_back([&](auto& g, const auto& r) {
      auto body = g.joined_body(swapped(r));
      auto digest = pki::sha256(r.csr);
      body.csr_sha256 = {digest.begin(), digest.end()};
      return g.answered(g.signed_answer(wire::join_answer::kind::joined,
                                        wire::encode(body), r));
    });
  }
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::untrusted);
  CHECK_THAT(outcome.message, Catch::Contains(check));
  CHECK_FALSE(fs::exists(w.folder / "data/identity.json"));
}
