// spec: ATTESTATION section 2.2: a TLS 1.3 handshake by a key in the TPM
#include "daemon/gateway_client.hpp"
#include "daemon/session.hpp"
#include "daemon/tpm/local_keeper.hpp"
#include "tests/daemon/tls_server.hpp"
#include "tests/daemon/tpm_world.hpp"
#include "tests/support/software_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::testing;
using daemon::exchange;

namespace {

const std::string whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

// The server goes by the machine's clock.
void of_today(tpm_world& w) {
  w.time.server = system_clock{}.now();
  w.me.who.certificate_chain.front() = w.certificate(w.me.key.pub(), {});
}

exchange renew_at(tpm_world& w, tls_server& server) {
  auto config = w.server.gateway.config(w.folder);
  config.gateway_url = server.url("localhost");
  auto got = daemon::post_to_gateway(config, "/v1/renew", "{}", &w.me);
  server.finish();
  return got;
}

}  // namespace

TEST_CASE("tpm tls: the client's certificate is proved by the TPM") {
  tpm_world w;
  of_today(w);
  tls_server server{w.server.gateway.server,
                    w.server.gateway.keys.serving_ca.certificate, whole,
                    TLS1_3_VERSION, w.server.gateway.keys.node_ca.certificate};
  auto got = renew_at(w, server);
  INFO(got.why);
  REQUIRE(got.what == exchange::fate::answered);
  CHECK(server.client_certificate == w.me.who.certificate_chain.front());
  CHECK(w.tpm->called_so_far("sign") == 1);
}

TEST_CASE("tpm tls: a TPM that does not sign is what is told") {
  tpm_world w;
  const bool cleared = GENERATE(false, true);
  w.tpm->answers = cleared;
  w.tpm->seed = cleared ? 1 : 0;
  tls_server server{w.server.gateway.server,
                    w.server.gateway.keys.serving_ca.certificate, whole,
                    TLS1_3_VERSION, w.server.gateway.keys.node_ca.certificate};
  auto got = renew_at(w, server);
  CHECK(got.what == exchange::fate::unreachable);
  CHECK_THAT(got.why,
             Catch::StartsWith("the node's key does not sign: ") &&
                 Catch::Contains(cleared ? "cleared" : "No such device"));
  CHECK(server.request.empty());
  // A session says the same.
  tls_server other{w.server.gateway.server,
                   w.server.gateway.keys.serving_ca.certificate, whole,
                   TLS1_3_VERSION, w.server.gateway.keys.node_ca.certificate};
  auto config = w.server.gateway.config(w.folder);
  config.gateway_url = other.url("localhost");
  daemon::session_hooks hooks;
  hooks.now = [&] { return w.time.server; };
  auto end = daemon::run_session(config, w.me, "1", hooks, {});
  CHECK(end.what == daemon::session_outcome::end::unreachable);
  CHECK_THAT(end.why, Catch::StartsWith("the node's key does not sign: "));
}

TEST_CASE("tpm tls: by a real TPM of software") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  daemon::tpm_settings settings;
  settings.tcti = t->tcti();
  tpm_world w;
  auto keeper = daemon::tpm::local_keeper(settings);
  w.me.key = daemon::machine_keys{keeper, true}.make().value();
  of_today(w);
  tls_server server{w.server.gateway.server,
                    w.server.gateway.keys.serving_ca.certificate, whole,
                    TLS1_3_VERSION, w.server.gateway.keys.node_ca.certificate};
  auto got = renew_at(w, server);
  INFO(got.why);
  REQUIRE(got.what == exchange::fate::answered);
  CHECK(server.client_certificate == w.me.who.certificate_chain.front());
}
