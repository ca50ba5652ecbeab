// Joins by a TPM through the actors of two server processes on one journal:
// whatever one of them gave, the other can check (spec: ATTESTATION sections
// 1.1 and 8.7).
#include "events/event_names.hpp"
#include "pki/rotation.hpp"
#include "tests/actors/tpm_world.hpp"
#include "tests/actors/two_processes.hpp"

namespace bc::test {
namespace {

class tpm_processes : public two_processes {
 public:
  tpm_processes() { w.tpm.emplace(); }

  [[nodiscard]] tpm_machine machine_of(int n) const {
    tpm_machine out{n};
    out.site = w.site.str();
    return out;
  }
  void allow(const tpm_machine& m) {
    w.tpm->allowed.insert_or_assign(m.ek_hash(), w.pool);
  }
  static wire::join_request joining(process& by, const tpm_machine& m) {
    const auto reply = by.ask(call_of(m.first_leg()));
    REQUIRE(reply.status == 200);
    auto r = m.request();
    r.tpm =
        m.answer(wire::decode_challenge_body(answer_in(reply).body).value());
    return r;
  }
};

TEST_CASE_METHOD(tpm_processes,
                 "tpm: a challenge of one process, answered to the other",
                 "[actors][shared]") {
  auto m = machine_of(1);
  allow(m);
  start(no_tail);
  const auto r = joining(a, m);
  const auto first = b.ask(call_of(r));
  REQUIRE(first.status == 200);
  // The stored answer, wherever it is asked for, also for a new challenge.
  for (auto* p : {&a, &b}) {
    CHECK(answer_in(p->ask(call_of(r))).body == answer_in(first).body);
    const auto again = joining(b, m);
    CHECK(answer_in(p->ask(call_of(again))).body == answer_in(first).body);
  }
  // A new key takes the node back through the one that did not admit it.
  m.renew_key();
  const auto next = joining(b, m);
  CHECK(a.ask(call_of(next)).status == 200);
  stop();
  CHECK(w.count(events::name::node_joined) == 2);
  CHECK(w.node(node_of(answer_in(first))).generation == 2);
  check_journal();
}

TEST_CASE_METHOD(tpm_processes, "tpm: a server shortens renewals too",
                 "[actors][shared]") {
  auto m = machine_of(1);
  allow(m);
  w.tpm->max_lifetime = seconds{3600};
  start(no_tail);
  const auto first = a.ask(call_of(joining(a, m)));
  REQUIRE(first.status == 200);
  const auto known = member_of(answer_in(first), m.key.node_key);
  m.renew_key();
  auto r = renewal_of(known, m.key.node_key, w.time.now());
  r.csr = m.key.csr;
  sign(r, known.key);
  r.attestation = m.key.make();
  REQUIRE(b.ask(call_of(r, known.leaf())).status == 200);
  stop();
  const auto all = w.node(known.id).certificates;
  REQUIRE(all.size() == 2);
  for (const auto& one : all)
    CHECK(one.cert.not_after - one.cert.not_before == seconds{3600});
}

TEST_CASE_METHOD(
    tpm_processes,
    "tpm: one leg 4, sent to both many times: one join, one answer",
    "[actors][shared]") {
  constexpr std::size_t count = 16;
  const auto m = machine_of(1);
  allow(m);
  start(milliseconds{1});
  const auto r = joining(a, m);
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < count; ++i)
    (i % 2 == 0 ? a : b).server->daemons().call(call_of(r), replies.take());
  std::optional<std::string> body;
  for (const auto& reply : replies.wait_for(count)) {
    REQUIRE((reply.status == 200 || reply.status == 503));
    if (reply.status != 200)
      continue;
    const auto answer = answer_in(reply);
    CHECK(body.value_or(answer.body) == answer.body);
    body = answer.body;
  }
  stop();
  CHECK(body);
  CHECK(w.count(events::name::node_joined) == 1);
  check_journal();
}

TEST_CASE_METHOD(tpm_processes,
                 "tpm: copies of a machine through both are one node",
                 "[actors][shared]") {
  constexpr std::size_t count = 12;
  std::vector<tpm_machine> copies;
  for (std::size_t i = 0; i < count; ++i)
    copies.push_back(machine_of(1));
  allow(copies.front());
  start(milliseconds{1});
  std::vector<wire::join_request> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back(joining(i % 2 == 0 ? a : b, copies[i]));
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < count; ++i)
    (i % 3 == 0 ? a : b)
        .server->daemons()
        .call(call_of(requests[i]), replies.take());
  std::int64_t admitted = 0;
  std::optional<node_id> node;
  for (const auto& reply : replies.wait_for(count)) {
    CHECK((reply.status == 200 || reply.status == 403 || reply.status == 409 ||
           reply.status == 503));
    if (reply.status != 200)
      continue;
    ++admitted;
    const auto id = node_of(answer_in(reply));
    CHECK(node.value_or(id) == id);
    node = id;
  }
  stop();
  REQUIRE(node);
  // Who takes it from one another is stopped at the third time.
  CHECK(admitted <= 3);
  CHECK(w.node(*node).generation == admitted);
  check_journal();
}

TEST_CASE_METHOD(tpm_processes,
                 "tpm: a refusal is an event of its owner, and explained",
                 "[actors][shared]") {
  const auto m = machine_of(1);
  start(no_tail);
  CHECK(a.ask(call_of(joining(b, m))).status == 403);
  stop();
  const auto stream = events::refusal_stream(w.root, "tpm", "tpm:ek-unknown");
  const auto all = w.journal->read_stream(stream, 0, 10).value();
  REQUIRE(all.size() == 1);
  CHECK(all[0].tenant == w.root.str());
  const auto event = std::get<events::refusal::refused>(
      events::refusal::decode(all[0]).value());
  CHECK(event.attestor == "tpm");
  CHECK(event.reason == "tpm:ek-unknown");
  CHECK(event.csr_sha256 == to_hex(pki::sha256(m.key.csr)));
  // Hashes only, and none of the EK, which is for the explanation.
  CHECK(all[0].data.find(m.ek_hash()) == std::string::npos);

  const auto kept =
      w.journal->find_refusals(w.root.str(), event.csr_sha256, 10).value();
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].reason == "tpm:ek-unknown");
  CHECK(kept[0].details.find(m.ek_hash()) != std::string::npos);
}

TEST_CASE("tpm: the keys are rotated between the legs") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  const auto r = w.joining(m);
  auto keys = pki::clone(*w.keys);
  auto rotate = [&](auto step) {
    keys = std::move(step).value();
    w.keys = std::make_shared<const pki::key_bundle>(pki::clone(keys));
  };
  using pki::key_name;
  rotate(pki::prepare_key(keys, key_name::join_encryption, w.time.now()));
  rotate(
      pki::activate_key(keys, key_name::join_encryption, w.time.now(), true));
  SECTION("the key before is known still") {
    CHECK(joined(w.join(r)));
  }
  SECTION("and then no more") {
    rotate(
        pki::retire_key(keys, key_name::join_encryption, w.time.now(), true));
    const auto head = w.head();
    check_tpm_refused(w, w.join(r), head,
                      events::refusal_reason::tpm_challenge_unknown, w.root);
    // A new challenge is of the new key.
    CHECK(joined(w.join_by_tpm(m)));
  }
}

}  // namespace
}  // namespace bc::test
