// spec: issue "The main job" item 4; CASES 14, 48, 111, 174, 176, 177
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "daemon/identity_store.hpp"
#include "pki/claims_digest.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

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
  void answer(errc code, int times = 1) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([code](auto& g, const auto& r) {
        return g.answered(g.failed(code, r, "said no"));
      });
  }
  void fate(exchange::fate what, int times = 1) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([what](auto&, const auto&) {
        return exchange{what, 0, "", {}, "cable cut"};
      });
  }
  [[nodiscard]] bool wrote(const std::string& name) const {
    return fs::exists(folder / ("data/" + name));
  }
  [[nodiscard]] bool pending() const { return wrote("csr.pending"); }
  [[nodiscard]] std::string csr_line(std::size_t i = 0) const {
    auto digest = pki::sha256(gateway.requests.at(i).csr);
    return "CSR " + to_hex(digest).substr(0, 16);
  }
};

}  // namespace

TEST_CASE("join: a machine joins, and says so when asked again") {
  world w;
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK(outcome.node_id == fake_gateway::node);
  REQUIRE(outcome.not_after);
  CHECK_THAT(outcome.message,
             Catch::Contains(outcome.node_id) &&
                 Catch::Contains(to_rfc3339(*outcome.not_after)));
  CHECK_FALSE(outcome.already_joined);
  CHECK_FALSE(w.pending());

  const auto& request = w.gateway.requests.at(0);
  CHECK(request.attestor.empty());
  CHECK(request.role == "node");
  CHECK(request.site_id == fake_gateway::site);
  CHECK(request.hardware.product_serial == "USE2200001");
  CHECK(request.hardware.macs.size() == 1);
  auto opened = pki::open_seal(
      w.gateway.keys.join_encryption, *request.sealed_token,
      {pki::sha256(request.csr), pki::claims_digest(request)}, w.gateway.start);
  REQUIRE(opened);
  CHECK(opened.value().expose_text() == fake_gateway::token);

  bool asked = false;
  auto again = daemon::run_join(
      w.config, w.machine,
      [&asked]() -> result<secret_bytes> {
        asked = true;
        return fail(errc::invalid_input, "no token");
      },
      w.gateway.options());
  CHECK(again.exit_code == join_exit::joined);
  CHECK(again.already_joined);
  CHECK_THAT(again.message,
             Catch::StartsWith("already joined as " + outcome.node_id));
  CHECK_FALSE(asked);
  CHECK(w.gateway.requests.size() == 1);
  for (const auto& file : fs::recursive_directory_iterator{w.folder.path()})
    if (file.is_regular_file())
      CHECK_THAT(read_text(file.path()),
                 !Catch::Contains(std::string{fake_gateway::token.substr(
                     fake_gateway::token.find('.') + 1)}));
}

TEST_CASE("join: role and node are asked for as told") {
  world w;
  auto options = w.gateway.options();
  options.role = pki::certificate_role::site;
  options.node_id = fake_gateway::node;
  w.gateway.script.push_back([](auto& g, const auto& r) {
    return g.answered(g.signed_answer(
        wire::join_answer::kind::joined,
        wire::encode(g.joined_body(r, pki::certificate_role::site)), r));
  });
  auto outcome = daemon::run_join(w.config, w.machine,
                                  secret_bytes{fake_gateway::token}, options);
  CHECK(outcome.exit_code == join_exit::joined);
  const auto& request = w.gateway.requests.at(0);
  CHECK(request.role == "site");
  CHECK(request.node_id == fake_gateway::node);
}

TEST_CASE("join: a refusal says two lines and no more") {
  world w;
  w.answer(errc::access_denied);
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::refused);
  CHECK(outcome.message == "Join refused\n" + w.csr_line());
  CHECK(w.gateway.requests.size() == 1);
  CHECK_FALSE(w.pending());
  CHECK_FALSE(w.wrote("node.key"));
  // The next attempt is a new one.
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests[0].csr != w.gateway.requests[1].csr);
}

TEST_CASE("join: a lost answer is retried with the same CSR (case 14)") {
  world w;
  w.fate(exchange::fate::lost);
  w.answer(errc::unavailable);
  w.fate(exchange::fate::unreachable);
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::joined);
  REQUIRE(w.gateway.requests.size() == 4);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
  REQUIRE(w.gateway.waits.size() == 3);
  milliseconds whole{1000};
  for (auto wait : w.gateway.waits) {
    CHECK(wait >= whole / 2);
    CHECK(wait <= whole);
    whole *= 2;
  }
}

TEST_CASE(
    "join: a new process presents the same CSR while the outcome is "
    "unknown (case 14)") {
  world w;
  auto code = join_exit::unreachable;
  SECTION("the connection was lost") {
    w.fate(exchange::fate::lost, 4);
  }
  SECTION("the server is unavailable") {
    code = join_exit::unavailable;
    w.answer(errc::unavailable, 4);
  }
  auto outcome = w.join();
  CHECK(outcome.exit_code == code);
  CHECK(w.gateway.requests.size() == 4);
  CHECK(w.pending());
  // Not reached at all: what is unknown stays unknown.
  w.fate(exchange::fate::unreachable);
  CHECK(w.join().exit_code == join_exit::unreachable);
  CHECK(w.pending());
  CHECK(w.join().exit_code == join_exit::joined);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
}

TEST_CASE("join: a gateway that was never reached leaves nothing behind") {
  world w;
  w.fate(exchange::fate::unreachable);
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::unreachable);
  CHECK_THAT(outcome.message, Catch::Contains("cable cut"));
  CHECK(w.gateway.waits.empty());
  CHECK_FALSE(w.pending());
}

TEST_CASE("join: CONFLICT is retried three times with the same CSR") {
  world w;
  SECTION("and passes") {
    w.answer(errc::conflict, 3);
    CHECK(w.join().exit_code == join_exit::joined);
  }
  SECTION("and stays") {
    w.answer(errc::conflict, 4);
    CHECK(w.join().exit_code == join_exit::conflict);
    CHECK(w.pending());
  }
  REQUIRE(w.gateway.requests.size() == 4);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
}

TEST_CASE("join: each failure has its exit code and message") {
  world w;
  // An answer that nobody signed does not tell what became of the join.
  bool unknown = false;
  SECTION("the server has no join keys") {
    unknown = true;
    w.gateway.script.push_back([](auto& g, const auto& r) {
      auto a = g.failed(errc::invalid_config, r, "no join keys");
      a.time.reset();  // it cannot sign
      return g.answered(a);
    });
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::server_config);
    CHECK_THAT(outcome.message, Catch::Contains("no join keys"));
  }
  SECTION("the server does not understand us") {
    unknown = true;
    w.answer(errc::invalid_input);
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::refused);
    CHECK_THAT(outcome.message, Catch::Contains("INVALID_INPUT"));
  }
  SECTION("the gateway's chain fails") {
    w.fate(exchange::fate::untrusted);
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::untrusted);
    CHECK_THAT(outcome.message, Catch::Contains("the token was not sent"));
  }
  SECTION("the token is no token") {
    auto outcome = daemon::run_join(
        w.config, w.machine,
        []() -> result<secret_bytes> {
          return fail(errc::invalid_input, "does not look like bcjt_…");
        },
        w.gateway.options());
    CHECK(outcome.exit_code == join_exit::usage);
    CHECK(w.gateway.requests.empty());
  }
  SECTION("the hardware cannot be read (case 48)") {
    w.machine.readable = false;
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::local);
    CHECK_THAT(outcome.message, Catch::Contains("need root"));
    CHECK(w.gateway.requests.empty());
  }
  SECTION("another bcd runs (case 178)") {
    auto other = daemon::identity_store::open(w.config.data_dir);
    REQUIRE(other);
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::local);
    CHECK_THAT(outcome.message, Catch::Contains("another bcd runs (pid "));
    CHECK(w.gateway.requests.empty());
  }
  SECTION("the configuration is wrong") {
    w.config.site = "here";
    CHECK(w.join().exit_code == join_exit::usage);
  }
  CHECK_FALSE(w.wrote("node.key"));
  CHECK(w.pending() == unknown);
}

TEST_CASE(
    "join: the encryption key must have its pin, before any network "
    "(case 174)") {
  world w;
  auto file = w.config.join_encryption_jwk;
  SECTION("another key") {
    write_text(file, pki::to_jwk(pki::private_key::generate().pub()));
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::untrusted);
    CHECK_THAT(outcome.message, Catch::Contains("join_encryption_key_pin"));
  }
  SECTION("no file") {
    fs::remove(file);
    CHECK(w.join().exit_code == join_exit::usage);
  }
  SECTION("garbage") {
    write_text(file, "{\"kty\":\"EC\"}");
    CHECK(w.join().exit_code == join_exit::usage);
  }
  SECTION("endless") {
    write_text(file, std::string(5000, ' '));
    CHECK(w.join().exit_code == join_exit::usage);
  }
  CHECK(w.gateway.requests.empty());
}

TEST_CASE(
    "join: an answer that fails a check writes nothing and is not "
    "retried (case 176)") {
  world w;
  std::string check;
  auto reply = [&w](auto make) {
    w.gateway.script.push_back(
        [make](auto& g, const auto& r) { return g.answered(make(g, r)); });
  };
  using kind = wire::join_answer::kind;
  SECTION("signed time of another key") {
    check = "signature";
    reply([](fake_gateway& g, const wire::join_request& r) {
      auto a = g.failed(errc::access_denied, r);
      a.signing_key = g.keys.command_signing.pub().spki();
      return a;
    });
  }
  SECTION("an unsigned refusal") {
    check = "signature";
    reply([](fake_gateway& g, const wire::join_request& r) {
      auto a = g.failed(errc::access_denied, r);
      a.time.reset();
      return a;
    });
  }
  SECTION("another machine's answer") {
    check = "csr_sha256";
    reply([](fake_gateway& g, const wire::join_request& r) {
      auto body = g.joined_body(r);
      body.csr_sha256[0] ^= 1;
      return g.signed_answer(kind::joined, wire::encode(body), r);
    });
  }
  SECTION("another role") {
    check = "role";
    reply([](fake_gateway& g, const wire::join_request& r) {
      return g.signed_answer(
          kind::joined,
          wire::encode(g.joined_body(r, pki::certificate_role::site)), r);
    });
  }
  SECTION("not the protocol") {
    check = "not one of the join protocol";
    w.gateway.script.push_back([](auto& g, const auto&) {
      return exchange{exchange::fate::answered, 502, "<html>", g.chain(), ""};
    });
  }
  SECTION("a certificate that is not valid at the signed time") {
    check = "not valid at the server's time";
    w.gateway.script.push_back([](auto& g, const auto& r) {
      auto old =
          pki::issue_server_certificate(g.keys.serving_ca, {"gw.example.com"},
                                        g.start - seconds{86'400} * 99);
      auto e = g.answered(g.joined(r));
      e.chain[0] = old.value().certificate;
      return e;
    });
  }
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::untrusted);
  CHECK_THAT(outcome.message, Catch::Contains(check));
  CHECK(w.gateway.requests.size() == 1);
  CHECK_FALSE(w.wrote("node.key"));
  CHECK_FALSE(w.wrote("identity.json"));
}

TEST_CASE(
    "join: a clock that is off is corrected once by the signed time "
    "(case 111)") {
  world w;
  w.gateway.clock.set(from_millis(0));
  auto like_the_server = [](fake_gateway& g, const wire::join_request& r) {
    bool fresh =
        pki::open_seal(g.keys.join_encryption, *r.sealed_token,
                       {pki::sha256(r.csr), pki::claims_digest(r)}, g.start)
            .has_value();
    return g.answered(fresh ? g.joined(r) : g.failed(errc::access_denied, r));
  };
  SECTION("and the join passes") {
    w.gateway.script = {like_the_server, like_the_server};
    CHECK(w.join().exit_code == join_exit::joined);
  }
  SECTION("and a second refusal stands") {
    w.answer(errc::access_denied, 2);
    auto outcome = w.join();
    CHECK(outcome.exit_code == join_exit::refused);
    CHECK(outcome.message == "Join refused\n" + w.csr_line());
  }
  REQUIRE(w.gateway.requests.size() == 2);
  CHECK(w.gateway.requests[0].csr == w.gateway.requests[1].csr);
}

TEST_CASE("join: a deferral names the request and keeps the CSR") {
  world w;
  auto defer = [](fake_gateway& g, const wire::join_request& r) {
    auto digest = pki::sha256(r.csr);
    wire::deferred_body body{
        "jreq_01k5w000000000000000000000", 30, {digest.begin(), digest.end()}};
    return g.answered(g.signed_answer(wire::join_answer::kind::deferred,
                                      wire::encode(body), r));
  };
  w.gateway.script = {defer};
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::refused);
  CHECK_THAT(outcome.message,
             Catch::Contains("approve") &&
                 Catch::Contains("jreq_01k5w000000000000000000000") &&
                 Catch::Contains(w.csr_line()));
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests[0].csr == w.gateway.requests[1].csr);
}

TEST_CASE(
    "join: a cut before identity.json is healed by the next run "
    "(case 177)") {
  world w;
  arm(fault_point::daemon_before_identity, fault_action::error);
  CHECK(w.join().exit_code == join_exit::local);
  disarm_all();
  CHECK_FALSE(w.wrote("identity.json"));
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests[0].csr == w.gateway.requests[1].csr);
}
