#include "actors/joining/release.hpp"
#include "base/json.hpp"
#include "pki/certificate.hpp"
#include "pki/signature.hpp"
#include "pki/spiffe.hpp"
#include "tests/actors/join_world.hpp"

// spec: joining#the-join-flow
namespace bc::test {
namespace {

bool time_verifies(const join_world& w, const wire::join_answer& answer,
                   const pki::sha256_digest& csr) {
  if (!answer.time ||
      answer.signing_key != w.keys->join_signing.key.pub().spki())
    return false;
  auto text = std::to_string(answer.time->time_ms);
  return answer.time->time_ms == to_millis(w.time.now()) &&
         pki::verify(w.keys->join_signing.key.pub(), pki::purpose::server_time,
                     {as_bytes(text), csr}, answer.time->signature);
}

TEST_CASE("join: an admitted machine gets what a daemon checks") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto got = w.join(m, token.text());
  // As it travels.
  auto status = wire::http_status(got.answer);
  CHECK(status == 200);
  auto answer =
      wire::decode_join_answer(status, wire::encode(got.answer)).value();
  CHECK(got.reports.empty());

  REQUIRE(answer.what == wire::join_answer::kind::joined);
  CHECK(pki::verify(w.keys->join_signing.key.pub(), pki::purpose::join_response,
                    {as_bytes(answer.body)}, answer.signature));
  CHECK(time_verifies(w, answer, m.csr_sha256()));

  auto body = wire::decode_joined_body(answer.body).value();
  CHECK(body.csr_sha256 == to_bytes(m.csr_sha256()));
  CHECK(body.trust_domain == "compute.example.test");
  CHECK(body.site_id == w.site.str());
  CHECK(body.role == "node");
  REQUIRE(body.command_signing_keys.size() == 1);
  CHECK(body.command_signing_keys.front() ==
        w.keys->command_signing.pub().spki());

  REQUIRE(body.certificate_chain.size() == 2);
  CHECK(body.certificate_chain.back() == w.keys->node_ca.certificate);
  const auto& leaf_der = body.certificate_chain.front();
  CHECK(pki::is_signed_by(leaf_der, w.keys->node_ca.certificate));
  auto leaf = pki::parse_certificate(leaf_der).value();
  CHECK(leaf.key == m.key.pub());
  CHECK(leaf.uris ==
        std::vector<std::string>{
            pki::to_uri({"compute.example.test", w.site.str(), body.node_id})});
  CHECK(leaf.role == pki::certificate_role::node);
  CHECK(to_millis(leaf.not_after) == body.not_after_ms);
  CHECK(leaf.not_after - leaf.not_before == seconds{86'400});
}

TEST_CASE("join: exactly redeemed and joined are written") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token([](auto& t) { t.max_uses = 3; });
  auto head = w.head();
  auto got = w.join(m, token.text());
  REQUIRE(joined(got));
  CHECK(w.uses_left(token) == 2);
  auto node = node_of(got.answer);
  auto body = wire::decode_joined_body(got.answer.body).value();

  auto written = w.after(head);
  REQUIRE(written.size() == 2);
  CHECK(written[0].commit == written[1].commit);
  CHECK(written[0].stream == events::stream_of(token.token.id));
  CHECK(written[1].stream == events::stream_of(node));
  CHECK(written[1].version == 1);
  for (const auto& e : written) {
    CHECK(e.tenant == w.owner.str());
    CHECK(e.actor == "machine");
    CHECK(e.correlation == "req-1");
  }
  auto redeemed = std::get<events::join_token::redeemed>(
      events::join_token::decode(written[0]).value());
  CHECK(redeemed.node == node);
  CHECK(redeemed.csr_sha256 == to_hex(m.csr_sha256()));

  auto j =
      std::get<events::node::joined>(events::node::decode(written[1]).value());
  CHECK(j.id == node);
  CHECK(j.tenant == w.owner);
  CHECK(j.site == w.site);
  CHECK(j.pool == w.pool);
  CHECK(j.attestor == "join-token");
  CHECK_FALSE(j.reclaim);
  CHECK(j.hardware_key_trusted);
  CHECK(j.hardware_key.size() == 64);
  CHECK(j.node_key == "unattested");
  CHECK(j.token == token.token.id.str());
  CHECK(j.cert.der == body.certificate_chain.front());
  CHECK(j.cert.serial == pki::parse_certificate(j.cert.der).value().serial);
  CHECK(j.cert.spki_sha256 == to_hex(m.key.pub().spki_sha256()));
  CHECK(j.cert.generation == 1);
  CHECK(j.claims.hostname == "rack-000001");

  // What never leaves stays in `internal`, the secret nowhere.
  for (const auto& e : written) {
    CHECK(e.data.find(token.secret) == std::string::npos);
    CHECK(e.internal.find(token.secret) == std::string::npos);
    CHECK(e.data.find(m.claims.product_serial) == std::string::npos);
  }
  // The machine's hardware, key and answer are held by its node.
  for (const auto& claim :
       {events::node::hardware_claim(j.hardware_key),
        events::node::spki_claim(j.cert.spki_sha256),
        events::node::answer_claim(token.token.id.str(),
                                   to_hex(m.csr_sha256()))}) {
    auto holder = w.journal->holder(claim).value();
    REQUIRE(holder.has_value());
    CHECK(holder->stream == events::stream_of(node));
  }
}

TEST_CASE("join: two machines in one site are two nodes") {
  join_world w;
  auto token = w.mint_token([](auto& t) { t.max_uses = 2; });
  auto a = w.join(make_machine(1), token.text());
  auto b = w.join(make_machine(2), token.text());
  REQUIRE(joined(a));
  REQUIRE(joined(b));
  CHECK(node_of(a.answer) != node_of(b.answer));
}

TEST_CASE("join: a token bound by expect admits its machine alone") {
  join_world w;
  auto mine = make_machine(1);
  struct bound {
    std::string name;
    std::function<void(events::join_token::created&)> change;
  };
  auto product = [&](auto& t) {
    t.expect.product_uuid = mine.claims.product_uuid;
  };
  auto serial = [&](auto& t) { t.expect.serial = mine.claims.product_serial; };
  auto c = GENERATE_REF(bound{"uuid", product}, bound{"serial", serial});
  CAPTURE(c.name);
  auto token = w.mint_token(c.change);
  auto head = w.head();
  check_refused(w, w.join(make_machine(2), token.text()), head,
                events::refusal_reason::join_expect, w.owner);
  CHECK(joined(w.join(mine, token.text())));
}

TEST_CASE("join: the certificate's role is the token's") {
  join_world w;
  struct pair {
    events::join_token::role token;
    std::string asked;
  };
  auto c = GENERATE(pair{events::join_token::role::node, "node"},
                    pair{events::join_token::role::site, "site"},
                    pair{events::join_token::role::provisioned, "node"},
                    pair{events::join_token::role::discovery, "ramdisk"});
  auto token = w.mint_token([&](auto& t) {
    t.token_role = c.token;
    if (c.token == events::join_token::role::site)
      t.pool.reset();
  });
  auto r = w.request(make_machine(1), token.text());
  r.role = c.asked;
  auto got = w.join(r);
  REQUIRE(joined(got));
  auto body = wire::decode_joined_body(got.answer.body).value();
  CHECK(body.role == c.asked);
  auto leaf = pki::parse_certificate(body.certificate_chain.front()).value();
  CHECK(pki::role_text(leaf.role.value()) == c.asked);
  auto most = c.asked == "ramdisk" ? seconds{7200} : seconds{86'400};
  CHECK(leaf.not_after - leaf.not_before == most);
}

TEST_CASE("join: without keys every join is INVALID_CONFIG, unsigned") {
  join_world w;
  auto head = w.head();
  auto body = wire::encode(w.request(make_machine(1), w.mint_token().text()));
  head = w.head();
  w.keys = nullptr;
  auto got = w.send(body);
  CHECK(got.answer.code == errc::invalid_config);
  CHECK_FALSE(got.answer.time.has_value());
  CHECK(got.reports.empty());
  CHECK(w.head() == head);
}

TEST_CASE("join: a body that is not well formed is INVALID_INPUT, unsigned") {
  join_world w;
  auto head = w.head();
  struct bad {
    std::string body, path;
  };
  auto good = wire::encode(w.request(make_machine(1), "bcjt_x.y"));
  auto with = [&](std::string_view from, std::string_view to) {
    auto text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::vector<bad> all = {
      {"", ""},
      {"[]", ""},
      {"{", ""},
      {std::string(wire::max_body + 1, ' '), ""},
      {with("\"protocol\":1", "\"protocol\":2"), "/protocol"},
      {with("\"role\":\"node\"", "\"role\":\"king\""), "/role"},
      {with("\"csr\":\"", "\"csr\":\"*"), "/csr"},
      {with("rack-", "\\u0000rack-"), ""},
      {with("rack-", "\xff"), ""},
      {with("\"sealed\":\"", "\"sealed\":\"" + std::string(4097, 'A')),
       "/evidence/join-token/sealed"},
  };
  for (const auto& b : all) {
    CAPTURE(b.path);
    auto got = w.send(b.body);
    CHECK(got.answer.what == wire::join_answer::kind::failed);
    CHECK(got.answer.code == errc::invalid_input);
    CHECK(got.answer.path == b.path);
    CHECK_FALSE(got.answer.time.has_value());
    CHECK(got.reports.empty());
  }
  CHECK(w.head() == head);
}

TEST_CASE("join: every answer to a well-formed body carries a fresh time") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto first = w.join(m, token.text());
  CHECK(time_verifies(w, first.answer, m.csr_sha256()));
  w.time.advance(milliseconds{1500});
  auto again = w.join(m, token.text());
  CHECK(time_verifies(w, again.answer, m.csr_sha256()));

  auto other = make_machine(2);
  auto refused = w.join(other, token.text());
  CHECK(refused.answer.code == errc::access_denied);
  CHECK(time_verifies(w, refused.answer, other.csr_sha256()));
  // Bound to this CSR alone.
  CHECK_FALSE(time_verifies(w, refused.answer, m.csr_sha256()));

  auto r = w.request(other, token.text());
  r.csr = {1, 2, 3};
  auto garbage = w.join(r);
  CHECK(time_verifies(w, garbage.answer, pki::sha256(r.csr)));
}

TEST_CASE("join: a refusal is released at a multiple of 100 ms") {
  auto at = [](std::int64_t ms) { return from_millis(1'000'037 + ms); };
  auto released = [&](std::int64_t ms) {
    return (actors::release_at(at(0), at(ms)) - at(0)).count();
  };
  CHECK(released(-5) == 100);
  CHECK(released(0) == 100);
  CHECK(released(1) == 100);
  CHECK(released(100) == 100);
  CHECK(released(101) == 200);
  CHECK(released(999) == 1000);
}

}  // namespace
}  // namespace bc::test
