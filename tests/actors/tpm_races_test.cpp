// What happens while a join by a TPM is judged, and which node its machine may
// say it is (spec: ATTESTATION section 2.6; DESIGN section 3).
#include "events/event_names.hpp"
#include "tests/actors/tpm_world.hpp"

#include <utility>

namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

/// Does something of another's before the next append, or before the next look
/// for who holds such a claim.
struct meddling final : sync_ledger {
  using sync_ledger::sync_ledger;
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (auto run = std::exchange(before_append, nullptr))
      run();
    sync_ledger::append(std::move(b), std::move(done));
  }
  void holder(
      std::string claim,
      actors::reply_to<std::optional<events::claim_holder>> done) override {
    if (claim.starts_with("proof:"))
      if (auto run = std::exchange(before_proof, nullptr))
        run();
    if (claim.starts_with("ek:") && stale > 0) {
      --stale;
      return done(std::optional<events::claim_holder>{});
    }
    sync_ledger::holder(std::move(claim), std::move(done));
  }
  std::function<void()> before_append;
  std::function<void()> before_proof;
  int stale = 0;  // so many answers that an EK is nobody's
};

struct tpm_races : tpm_world {
  tpm_races() { ledger = between; }
  /// Of another process, on the same store.
  [[nodiscard]] std::function<void()> elsewhere(std::function<void()> what) {
    return [this, what = std::move(what)] {
      ledger = plain;
      what();
      ledger = between;
    };
  }
  std::shared_ptr<sync_ledger> plain = ledger;
  std::shared_ptr<meddling> between =
      std::make_shared<meddling>(*journal, time, &places);
};

TEST_CASE_METHOD(tpm_races,
                 "tpm: an identity that is revoked while its machine comes "
                 "back stays revoked",
                 "[actors]") {
  auto m = machine_of(1);
  allow(m);
  const auto id = join_well(m);
  tpm->allowed.clear();
  m.renew_key();
  const auto revoke = elsewhere([&] {
    command(id, node::revoke_identity{time.now(), ""});
  });
  const bool asks_a_person = GENERATE(false, true);
  if (asks_a_person)
    enroll();
  SECTION("once it was proved whose the EK is") {
    between->before_proof = revoke;
  }
  SECTION("once it was decided") {
    between->before_append = revoke;
  }
  const auto got = join_by_tpm(m);
  if (asks_a_person) {
    CHECK(got.answer.what == wire::join_answer::kind::deferred);
    CHECK(count(events::name::join_request_opened) == 1);
  } else {
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports.front().reason == refusal_reason::tpm_ek_unknown);
    CHECK(got.reports.front().owner == owner);
  }
  CHECK(this->node(id).generation == 1);
  CHECK(node::is_identity_revoked(this->node(id)));
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: what else becomes of its node meanwhile keeps no "
                 "machine out",
                 "[actors]") {
  auto m = machine_of(1);
  allow(m);
  const auto id = join_well(m);
  tpm->allowed.clear();
  m.renew_key();
  const auto change =
      elsewhere([&] { command(id, node::suspect_clone{time.now()}); });
  SECTION("once it was proved whose the EK is") {
    between->before_proof = change;
  }
  SECTION("once it was decided") {
    between->before_append = change;
  }
  CHECK(join_well(m) == id);
  CHECK(this->node(id).generation == 2);
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: a node that is deleted while its machine comes back is "
                 "gone",
                 "[actors]") {
  auto m = machine_of(1);
  allow(m);
  const auto id = join_well(m);
  tpm->allowed.clear();
  m.renew_key();
  between->before_proof = elsewhere([&] { retire(id); });
  const auto got = join_by_tpm(m);
  REQUIRE(got.reports.size() == 1);
  CHECK(got.reports.front().reason == refusal_reason::tpm_ek_unknown);
  CHECK(got.reports.front().owner == root);
  CHECK(count("node.joined") == 1);
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: a machine that joins while it is put off asks nobody",
                 "[actors]") {
  enroll();
  auto m = machine_of(1), copy = machine_of(1);
  std::optional<node_id> id;
  between->before_append = elsewhere([&] {
    allow(copy);
    id = join_well(copy);
    tpm->allowed.clear();
  });
  SECTION("it is that node again") {
    CHECK(join_well(m) == id);
  }
  SECTION("also where its node was read, and revoked") {
    REQUIRE(between->before_append);
    std::exchange(between->before_append, nullptr)();
    command(*id, node::revoke_identity{time.now(), ""});
    between->before_append = elsewhere([&] {
      allow(copy);
      copy.renew_key();
      CHECK(join_well(copy) == *id);
      tpm->allowed.clear();
    });
    CHECK(join_well(m) == id);
  }
  CHECK(count(events::name::join_request_opened) == 0);
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: a machine may say which node it is, and be no other",
                 "[actors]") {
  auto m = machine_of(1), other = machine_of(2);
  allow(m);
  allow(other);
  const auto id = join_well(m);
  const auto others = join_well(other);
  const bool allowed = GENERATE(true, false);
  if (!allowed)
    tpm->allowed.clear();
  m.renew_key();
  m.node = others.str();
  const auto before = head();
  check_tpm_refused(*this, join_by_tpm(m), before, refusal_reason::join_expect,
                    owner);
  m.node = id.str();
  CHECK(join_well(m) == id);
  CHECK(this->node(id).generation == 2);
  CHECK(this->node(others).generation == 1);
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: whose EK is nobody's says it is no node, and no person "
                 "is asked",
                 "[actors]") {
  auto m = machine_of(1);
  auto whose = root;
  SECTION("it is allowed") {
    allow(m);
    whose = owner;
  }
  SECTION("strangers are put off") {
    enroll();
  }
  SECTION("its node was deleted") {
    allow(m);
    const auto id = join_well(m);
    retire(id);
    m.renew_key();
    m.node = id.str();
    tpm->allowed.clear();
    enroll();
  }
  if (m.node.empty())
    m.node = pki::mint<node_id>(time.now()).str();
  const auto before = head();
  check_tpm_refused(*this, join_by_tpm(m), before, refusal_reason::join_expect,
                    whose);
  CHECK(count(events::name::join_request_opened) == 0);
  // It joins by its EK alone.
  m.node.clear();
  allow(m);
  m.renew_key();
  CHECK(joined(join_by_tpm(m)));
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: a refusal for the node it says it is, is confirmed",
                 "[actors]") {
  auto m = machine_of(1);
  allow(m);
  const auto id = join_well(m);
  m.renew_key();
  m.node = id.str();
  SECTION("by who is judged by all rules") {
    // Found by nobody twice: whose it is, and whose it would become. The
    // machine's hardware names no node either.
    m.claims = {};
    between->stale = 2;
  }
  SECTION("by who would be put off") {
    tpm->allowed.clear();
    enroll();
    between->stale = 1;
  }
  CHECK(join_well(m) == id);
}

TEST_CASE_METHOD(tpm_races,
                 "tpm: one that a person is to approve may say its own node",
                 "[actors]") {
  auto m = machine_of(1);
  allow(m);
  const auto id = join_well(m);
  tpm->allowed.clear();
  command(id, node::revoke_identity{time.now(), ""});
  enroll();
  m.renew_key();
  m.node = id.str();
  approve(deferred(m));
  CHECK(join_well(m) == id);
}

}  // namespace
}  // namespace bc::test
