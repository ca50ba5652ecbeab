// Sessions on the server: who may have one, who takes over, what is confirmed
// (DESIGN 7; CASES 63, 66, 67, 68).
#include "base/json.hpp"
#include "pki/signature.hpp"
#include "tests/actors/disturbed_ledgers.hpp"
#include "tests/actors/session_world.hpp"

namespace bc::test {
namespace {

namespace node = events::node;
namespace name = events::name;

class session_world : public join_world {
 public:
  session_member new_member(int n) {
    auto tried = join(make_machine(n), mint_token().text());
    REQUIRE(joined(tried));
    return member_of(tried.answer);
  }
  actors::daemon_reply ask(actors::daemon_call call) {
    auto env = std::make_shared<actors::session_environment>();
    env->keys = with_keys ? keys : nullptr;
    int answers = 0;
    actors::daemon_reply out;
    actors::run_session_call(env, through, std::move(call),
                             [&](actors::daemon_reply reply) {
                               ++answers;
                               out = std::move(reply);
                             });
    REQUIRE(answers == 1);
    return out;
  }
  int hello(const session_member& m, const std::string& session,
            const std::string& address = "192.0.2.1") {
    return ask(hello_call(m, hello_of(session, "gw_1", address))).status;
  }
  /// By the right CA, but never issued to the node.
  session_member forged(const node_id& id) {
    pki::node_certificate_request r{pki::private_key::generate().pub(),
                                    "compute.example.test",
                                    site.str(),
                                    id.str(),
                                    pki::certificate_role::node,
                                    {},
                                    time.now(),
                                    pki::max_node_lifetime,
                                    {1, 2, 3}};
    auto issued = pki::issue_node_certificate(keys->node_ca, r);
    return {id, std::string{as_text(issued.der)}};
  }
  std::string live(const session_member& m) {
    auto s = node(m.id);
    const auto* session = node::live_session(s);
    return session != nullptr ? session->session : "";
  }

  std::shared_ptr<actors::ledger> through = ledger;
  bool with_keys = true;
};

}  // namespace

TEST_CASE_METHOD(session_world,
                 "session: a hello is welcomed with the server's time",
                 "[actors]") {
  auto m = new_member(1);
  auto reply = ask(hello_call(m, hello_of("sess_1")));
  REQUIRE(reply.status == 200);
  auto frame = wire::decode_to_daemon(reply.body);
  REQUIRE(frame);
  REQUIRE(frame.value());
  const auto& w = std::get<wire::welcome>(*frame.value());
  CHECK(w.session_id == "sess_1");
  CHECK(w.heartbeat_seconds == 15);
  CHECK(w.signing_key == keys->join_signing.key.pub().spki());
  CHECK(w.time.time_ms == to_millis(time.now()));
  const bytes nonce(32, 0x0b);
  auto text = std::to_string(w.time.time_ms);
  CHECK(pki::verify(keys->join_signing.key.pub(), pki::purpose::server_time,
                    {as_bytes(text), nonce}, w.time.signature));
  CHECK_FALSE(pki::verify(keys->join_signing.key.pub(),
                          pki::purpose::server_time,
                          {as_bytes(text), bytes(32, 0)}, w.time.signature));

  auto events = after(head() - 1);
  REQUIRE(events.size() == 1);
  CHECK(events[0].type == name::node_connected);
  CHECK(events[0].actor == "machine");
  CHECK(events[0].correlation == "req-1");
  CHECK(events[0].tenant == owner.str());
  auto c = std::get<node::connected>(node::decode(events[0]).value());
  CHECK(c.session == "sess_1");
  CHECK(c.gateway == "gw_1");
  CHECK(c.address == "192.0.2.1");
  CHECK(c.serial == node(m.id).certificates[0].cert.serial);
  // A gateway that asks twice gets its welcome twice, and nothing happens.
  auto before = head();
  CHECK(hello(m, "sess_1") == 200);
  CHECK(head() == before);
}

TEST_CASE_METHOD(session_world, "session: who is refused", "[actors]") {
  auto m = new_member(1), other = new_member(2);
  auto before = head();
  auto refused = [&](const actors::daemon_call& call) {
    auto reply = ask(call);
    CHECK(reply.status == 403);
    CHECK(reply.body.find("Session refused") != std::string::npos);
    CHECK(head() == before);
  };
  const auto h = hello_of("sess_1");
  SECTION("no certificate, and what is none") {
    refused(hello_call({m.id, ""}, h));
    refused(hello_call({m.id, "certificate"}, h));
    refused(hello_call({m.id, m.certificate + "x"}, h));
    refused(check_call({m.id, ""}, "sess_1"));
  }
  SECTION("of a node that this deployment does not have") {
    refused(hello_call(forged(pki::mint<node_id>(time.now())), h));
  }
  SECTION("the node's name, but not a certificate it was given (case 110)") {
    refused(hello_call(forged(m.id), h));
  }
  SECTION("another node's session is asked about") {
    REQUIRE(hello(m, "sess_1") == 200);
    before = head();
    refused(call_of(actors::daemon_request::check_session,
                    wire::encode(wire::session_check{"sess_1", m.id.str()}),
                    other.certificate));
  }
  SECTION("revoked (case 66)") {
    command(m.id, node::revoke_identity{time.now(), ""});
    before = head();
    refused(hello_call(m, h));
  }
  SECTION("deleted (case 67)") {
    retire(m.id);
    before = head();
    refused(hello_call(m, h));
  }
  SECTION("over") {
    time.set(node(m.id).certificates[0].cert.not_after);
    refused(hello_call(m, h));
  }
  SECTION("reclaimed: the older generation's (case 63)") {
    auto again = join(make_machine(1), mint_reclaim_token().text());
    REQUIRE(joined(again));
    before = head();
    refused(hello_call(m, h));
    CHECK(hello(member_of(again.answer), "sess_1") == 200);
  }
}

TEST_CASE_METHOD(session_world, "session: what is not well formed",
                 "[actors]") {
  auto m = new_member(1);
  auto before = head();
  for (auto what :
       {actors::daemon_request::hello, actors::daemon_request::session_end,
        actors::daemon_request::check_session})
    for (const char* body : {"", "{}", "[]", R"({"sessionId":1})"}) {
      auto reply = ask(call_of(what, body, m.certificate));
      CHECK(reply.status == 400);
      CHECK(reply.body.find("INVALID_INPUT") != std::string::npos);
    }
  CHECK(ask(end_call(m, "sess_1", "bored")).status == 400);
  auto stray = m;
  CHECK(ask(call_of(actors::daemon_request::session_end,
                    wire::encode(wire::session_end{"s", "x", "lost"}), ""))
            .status == 400);
  CHECK(head() == before);
  with_keys = false;
  auto reply = ask(hello_call(m, hello_of("sess_1")));
  CHECK(reply.status == 500);
  CHECK(reply.body.find("INVALID_CONFIG") != std::string::npos);
}

TEST_CASE_METHOD(session_world,
                 "session: the newest wins, and its end alone is the node's",
                 "[actors]") {
  auto m = new_member(1);
  REQUIRE(hello(m, "sess_1") == 200);
  CHECK(ask(check_call(m, "sess_1")).status == 200);
  REQUIRE(hello(m, "sess_2") == 200);
  CHECK(live(m) == "sess_2");
  CHECK(ask(check_call(m, "sess_1")).status == 409);
  CHECK(ask(check_call(m, "sess_2")).status == 200);

  auto before = head();
  CHECK(ask(end_call(m, "sess_1", "superseded")).status == 200);
  CHECK(head() == before);
  CHECK(ask(end_call(m, "sess_2", "lost")).status == 200);
  CHECK(head() == before + 1);
  CHECK(live(m).empty());
  CHECK(count(name::node_disconnected) == 1);
  CHECK(ask(end_call(m, "sess_2", "lost")).status == 200);
  CHECK(head() == before + 1);
  CHECK(ask(check_call(m, "sess_1")).status == 409);
}

TEST_CASE_METHOD(
    session_world,
    "session: one that was given up is taken back when asked about",
    "[actors]") {
  auto m = new_member(1);
  REQUIRE(hello(m, "sess_1") == 200);
  command(m.id, node::disconnect{time.now(), "sess_1",
                                 node::session_end::gateway_lost});
  CHECK(live(m).empty());
  CHECK(ask(check_call(m, "sess_1")).status == 200);
  CHECK(live(m) == "sess_1");
  CHECK(node(m.id).session->address == "192.0.2.1");
}

TEST_CASE_METHOD(session_world,
                 "session: a check after a revocation cuts (cases 66, 67)",
                 "[actors]") {
  auto m = new_member(1);
  REQUIRE(hello(m, "sess_1") == 200);
  SECTION("revoked") {
    command(m.id, node::revoke_identity{time.now(), ""});
  }
  SECTION("deleted") {
    retire(m.id);
  }
  CHECK(ask(check_call(m, "sess_1")).status == 403);
  // Its gateway tells of the end also then.
  CHECK(ask(end_call(m, "sess_1", "cut")).status == 200);
  CHECK(live(m).empty());
}

TEST_CASE_METHOD(session_world,
                 "session: what happened elsewhere a moment ago counts, "
                 "whatever this process knows",
                 "[actors]") {
  auto m = new_member(1);
  auto late = std::make_shared<behind_ledger>(*journal, time);
  through = late;
  auto as_of_now = [&] {
    return std::make_shared<const node::state>(node(m.id));
  };
  SECTION("a revocation: no hello is welcomed") {
    late->old = as_of_now();
    command(m.id, node::revoke_identity{time.now(), ""});
    CHECK(hello(m, "sess_1") == 403);
    CHECK(count(name::node_connected) == 0);
  }
  SECTION("a revocation: no check is passed") {
    REQUIRE(hello(m, "sess_1") == 200);
    late->old = as_of_now();
    command(m.id, node::revoke_identity{time.now(), ""});
    CHECK(ask(check_call(m, "sess_1")).status == 403);
  }
  SECTION("a newer session") {
    REQUIRE(hello(m, "sess_1") == 200);
    late->old = as_of_now();
    command(m.id, node::connect{time.now(), "sess_2", "gw_2", "", "", ""});
    CHECK(ask(check_call(m, "sess_1")).status == 409);
  }
  SECTION("a join: its certificate is no stranger's") {
    late->old = std::make_shared<const node::state>();
    CHECK(hello(m, "sess_1") == 200);
  }
  SECTION("a session: its end is not lost") {
    late->old = as_of_now();
    command(m.id, node::connect{time.now(), "sess_1", "gw_1", "", "", ""});
    CHECK(ask(end_call(m, "sess_1", "lost")).status == 200);
    CHECK(live(m).empty());
  }
  SECTION("a store that is away refuses nobody") {
    auto away = std::make_shared<interrupted_ledger>(*journal, time);
    away->fails = true;
    through = away;
    CHECK(hello(m, "sess_1") == 503);
    CHECK(ask(check_call(m, "sess_1")).status == 503);
    command(m.id, node::revoke_identity{time.now(), ""});
    CHECK(hello(m, "sess_1") == 503);
  }
}

TEST_CASE_METHOD(session_world,
                 "session: twins with one identity are told of (case 68)",
                 "[actors]") {
  auto m = new_member(1);
  for (int i = 0; i < 30; ++i) {
    time.advance(seconds{5});
    REQUIRE(hello(m, "sess_" + std::to_string(i),
                  "192.0.2." + std::to_string(i % 2)) == 200);
  }
  CHECK(count(name::node_clone_suspected) == 1);
  // Neither twin is shut out, and the generation is what it was.
  CHECK(node(m.id).generation == 1);
  CHECK(live(m) == "sess_29");
}

TEST_CASE_METHOD(session_world,
                 "session: the first one starts acceptance, in one append",
                 "[actors]") {
  events::pool::policy rules;
  rules.acceptance_checks = {"burn-in"};
  auto checked = new_pool(owner, site, events::pool::agent::bcd, rules);
  auto token = mint_token([&](auto& t) { t.pool = checked; });
  auto tried = join(make_machine(1), token.text());
  REQUIRE(joined(tried));
  auto m = member_of(tried.answer);
  REQUIRE(hello(m, "sess_1") == 200);
  auto events = after(head() - 2);
  REQUIRE(events.size() == 2);
  CHECK(events[0].type == name::node_connected);
  CHECK(events[1].type == name::node_acceptance_started);
  CHECK(events[0].commit == events[1].commit);
  CHECK(node(m.id).current == node::status::adopting);
}

}  // namespace bc::test
