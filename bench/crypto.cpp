#include "actors/joining/admission_batch.hpp"
#include "actors/joining/issuing.hpp"
#include "base/wire_renew.hpp"
#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/memory_journal.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"
#include "pki/signature.hpp"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <ctime>
#include <memory>

namespace bc::bench {

namespace {

double thread_cpu() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// What no design can leave out: seal opening, CSR check, certificate and
// answer signed, the server's time signed.
double join_cost(const world& w, const std::vector<token>& tokens,
                 const std::vector<std::string>& bodies) {
  const auto& token = tokens.front().record;
  const auto judged = judged_alone(token);
  auto before = thread_cpu();
  for (const auto& body : bodies) {
    auto now = bc::system_clock{}.now();
    auto request = std::move(wire::decode_join_request(body)).value();
    auto digest = pki::sha256(request.csr);
    auto csr = std::move(pki::parse_csr(request.csr)).value();
    if (!pki::self_signature_verifies(csr))
      std::abort();
    (void)pki::open_seal(w.keys->join_encryption, *request.sealed_token, digest,
                         now)
        .value();
    auto plan =
        actors::plan_admission(*w.keys, pki::max_node_lifetime, judged,
                               {request, csr.key, pki::hardware_key{}, digest,
                                plain_identity, token.id.str()},
                               spending_of(token, digest), "req_bench", now);
    actors::answer_signer signer{*w.keys, digest};
    (void)signer.joined(std::move(plan.value().answer), now);
  }
  return (thread_cpu() - before) / static_cast<double>(bodies.size());
}

/// A renewal as it comes in, by one machine.
struct renewal_sample {
  std::string body;
  bytes leaf;
};
renewal_sample make_renewal(const world& w) {
  const auto now = bc::system_clock{}.now();
  const auto current = pki::private_key::generate();
  const auto next = pki::private_key::generate();
  wire::renew_request r;
  r.node_id = pki::mint<node_id>(now).str();
  r.csr = pki::build_csr(next);
  r.client_time_ms = to_millis(now);
  const auto made = pki::issue_node_certificate(w.keys->node_ca,
                                                {current.pub(),
                                                 w.keys->trust_domain,
                                                 pki::mint<site_id>(now).str(),
                                                 r.node_id,
                                                 pki::certificate_role::node,
                                                 {},
                                                 now,
                                                 pki::max_node_lifetime,
                                                 {}});
  r.certificate_chain = {made.der, w.keys->node_ca.certificate};
  const auto csr = pki::sha256(r.csr);
  const auto time = std::to_string(r.client_time_ms);
  const auto proof = pki::sign(current, pki::purpose::renew_pop,
                               {csr, as_bytes(r.node_id), as_bytes(time)});
  r.pop_signature.assign(proof.begin(), proof.end());
  return {wire::encode(r), made.der};
}

// The same of a renewal: CSR and proof checked, certificate and answer signed,
// the server's time signed.
double renew_cost(const world& w, const std::vector<renewal_sample>& all) {
  const auto site = pki::mint<site_id>(bc::system_clock{}.now());
  auto before = thread_cpu();
  for (const auto& one : all) {
    auto now = bc::system_clock{}.now();
    auto request = std::move(wire::decode_renew_request(one.body)).value();
    auto digest = pki::sha256(request.csr);
    auto csr = std::move(pki::parse_csr(request.csr)).value();
    auto leaf = std::move(pki::parse_certificate(one.leaf)).value();
    const auto time = std::to_string(request.client_time_ms);
    if (!pki::self_signature_verifies(csr) ||
        !pki::verify(leaf.key, pki::purpose::renew_pop,
                     {digest, as_bytes(request.node_id), as_bytes(time)},
                     request.pop_signature))
      std::abort();
    auto issued = actors::issue(
        *w.keys,
        {csr.key, digest, site, node_id::parse(request.node_id).value()},
        pki::purpose::renew_response, now);
    actors::answer_signer signer{*w.keys, digest};
    (void)signer.renewed(std::move(issued.answer), now);
  }
  return (thread_cpu() - before) / static_cast<double>(all.size());
}

double renew_primitives_cost(const world& w, std::size_t times) {
  auto peer = pki::private_key::generate();
  auto digest = pki::sha256(as_bytes("bench"));
  auto signature = peer.sign(digest);
  auto before = thread_cpu();
  for (std::size_t i = 0; i < times; ++i) {
    for (int n = 0; n < 2; ++n)
      (void)peer.pub().verify(digest, signature);
    for (int n = 0; n < 3; ++n)
      (void)w.keys->join_signing.key.sign(digest);
  }
  return (thread_cpu() - before) / static_cast<double>(times);
}

double primitives_cost(const world& w, std::size_t times) {
  auto peer = pki::private_key::generate();
  auto digest = pki::sha256(as_bytes("bench"));
  auto signature = peer.sign(digest);
  auto before = thread_cpu();
  for (std::size_t i = 0; i < times; ++i) {
    (void)w.keys->join_encryption.ecdh(peer.pub());
    (void)peer.pub().verify(digest, signature);
    for (int n = 0; n < 3; ++n)
      (void)w.keys->join_signing.key.sign(digest);
  }
  return (thread_cpu() - before) / static_cast<double>(times);
}

using context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

context server_context(const world& w) {
  context ctx{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
  SSL_CTX_set_min_proto_version(ctx.get(), TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(ctx.get(), 0);
  auto leaf =
      std::move(pki::issue_server_certificate(w.keys->serving_ca, {"localhost"},
                                              bc::system_clock{}.now()))
          .value();
  const auto* der = leaf.certificate.data();
  auto* x509 =
      d2i_X509(nullptr, &der, static_cast<long>(leaf.certificate.size()));
  auto pem = leaf.key.pkcs8_pem();
  auto text = pem.expose_text();
  auto* bio = BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  auto* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(ctx.get(), x509);
  SSL_CTX_use_PrivateKey(ctx.get(), key);
  X509_free(x509);
  EVP_PKEY_free(key);
  BIO_free(bio);
  return ctx;
}

// The server's side alone of a full TLS 1.3 handshake.
double handshake_cost(const world& w, std::size_t times) {
  auto server_ctx = server_context(w);
  context client_ctx{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  double spent = 0;
  for (std::size_t i = 0; i < times; ++i) {
    auto before = thread_cpu();
    auto* server = SSL_new(server_ctx.get());
    spent += thread_cpu() - before;
    auto* client = SSL_new(client_ctx.get());
    BIO *near = nullptr, *far = nullptr;
    BIO_new_bio_pair(&near, 0, &far, 0);
    SSL_set_bio(server, near, near);
    SSL_set_bio(client, far, far);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    while (SSL_is_init_finished(server) == 0 ||
           SSL_is_init_finished(client) == 0) {
      SSL_do_handshake(client);
      before = thread_cpu();
      SSL_do_handshake(server);
      spent += thread_cpu() - before;
    }
    SSL_free(client);
    before = thread_cpu();
    SSL_free(server);
    spent += thread_cpu() - before;
  }
  return spent / static_cast<double>(times);
}

}  // namespace

bound measure_crypto(const settings& s, report& out) {
  out.section("Cryptography alone (server, one core)");
  bc::system_clock time;
  auto w = make_world();
  auto store = events::make_memory_journal(time);
  found(w, *store);
  auto tokens = mint_tokens(w, *store, 1, 10'000);
  auto n = s.scaled(2'000);
  auto bodies = join_bodies(w, tokens, n);
  auto primitives = primitives_cost(w, n);
  auto encoded = join_cost(w, tokens, bodies);
  bound b{primitives, handshake_cost(w, n)};
  out.add("one ECDH, one verification, three signatures (bound)",
          primitives * 1e6, "us");
  out.add_ratio("the same with our encodings", encoded * 1e6, "us",
                primitives * 1e6, "the bound");
  std::vector<renewal_sample> renewals;
  for (std::size_t i = 0; i < n; ++i)
    renewals.push_back(make_renewal(w));
  const auto of_renewal = renew_primitives_cost(w, n);
  out.add("of a renewal: two verifications, three signatures (bound)",
          of_renewal * 1e6, "us");
  out.add_ratio("a renewal with our encodings", renew_cost(w, renewals) * 1e6,
                "us", of_renewal * 1e6, "its bound");
  out.add("TLS 1.3 handshake, full", b.handshake * 1e6, "us");
  out.add("bound, joins per CPU-second", 1 / b.join, "1/s");
  out.add("bound with a handshake each", 1 / (b.join + b.handshake), "1/s");
  return b;
}

}  // namespace bc::bench
