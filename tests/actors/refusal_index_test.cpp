// DESIGN section 7: every refusal is in the index a second later.

#include "actors/refusal_index.hpp"

#include "actors/refusal_backlog.hpp"
#include "actors/runtime.hpp"
#include "events/refusal_reason.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/sample_events.hpp"

#include <future>

namespace bc::test {
namespace {

using events::refusal_reason;

const std::string csr(64, 'c');

class index_fixture : public actor_fixture {
 public:
  index_fixture() {
    auto reader = own(actors::spawn_journal_reader(
        system, {&journal, nullptr, actors::threading::shared}));
    index = own(actors::spawn_refusal_index(system, {reader, &time}));
    run();
  }

  void refuse(const std::string& hash = csr,
              refusal_reason why = refusal_reason::join_site) {
    actors::refusal_report r;
    r.owner = owner;
    r.reason = why;
    r.attestor = "join-token";
    r.role = "node";
    r.csr_sha256 = hash;
    r.token = "jt_1";
    r.details = "{\"n\":1}";
    caf::anon_send(index, std::move(r));
    run();
  }

  std::vector<events::refused_join> found(const std::string& hash = csr) {
    return store->find_refusals(owner.str(), hash, 10).value();
  }

  actors::refusal_actor index;
  tenant_id owner = some_id<tenant_id>();
};

TEST_CASE_METHOD(index_fixture,
                 "refusal index: one batch a second, whatever comes",
                 "[actors]") {
  for (int i = 0; i < 5; ++i)
    refuse();
  refuse(std::string(64, 'd'));
  CHECK(journal.refusals_kept == 0);
  advance(seconds{1});
  CHECK(journal.refusals_kept == 1);
  auto rows = found();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].times == 5);
  CHECK(rows[0].reason == "join:site");
  CHECK(rows[0].token == "jt_1");
  CHECK(rows[0].details == "{\"n\":1}");
  CHECK(found(std::string(64, 'd')).size() == 1);
  // Nothing waits: nothing is written.
  for (int i = 0; i < 5; ++i)
    advance(seconds{1});
  CHECK(journal.refusals_kept == 1);
  refuse();
  advance(seconds{1});
  CHECK(found().at(0).times == 6);
}

TEST_CASE_METHOD(index_fixture,
                 "refusal index: a store that is away loses and doubles none",
                 "[actors]") {
  journal.lose_refusals = true;
  refuse();
  advance(seconds{1});
  refuse();
  advance(seconds{1});
  journal.lose_refusals = false;
  journal.lose_answers = true;
  advance(seconds{1});
  journal.lose_answers = false;
  for (int i = 0; i < 3; ++i)
    advance(seconds{1});
  CHECK(found().at(0).times == 2);
}

TEST_CASE_METHOD(index_fixture,
                 "refusal index: what the store cannot hold holds up nothing",
                 "[actors]") {
  journal.cannot_keep_refusals = true;
  refuse();
  advance(seconds{1});
  journal.cannot_keep_refusals = false;
  refuse(std::string(64, 'd'));
  advance(seconds{1});
  CHECK(found().empty());
  CHECK(found(std::string(64, 'd')).size() == 1);
}

TEST_CASE_METHOD(index_fixture,
                 "refusal index: a flush leaves nothing in memory",
                 "[actors]") {
  // More than one batch.
  for (auto why : {refusal_reason::join_site, refusal_reason::join_pool,
                   refusal_reason::join_tenant, refusal_reason::join_expect,
                   refusal_reason::join_reclaim})
    for (int n = 100; n < 356; ++n)
      refuse(std::string(61, '0') + std::to_string(n), why);
  CHECK(ask<void>(index, actors::flush_refusals{}).has_value());
  CHECK(journal.refusals_kept == 2);
  CHECK(found(std::string(61, '0') + "100").size() == 5);
  CHECK(ask<void>(index, actors::flush_refusals{}).has_value());

  journal.lose_refusals = true;
  refuse();
  CHECK_FALSE(ask<void>(index, actors::flush_refusals{}).has_value());
  journal.lose_refusals = false;
  CHECK(ask<void>(index, actors::flush_refusals{}).has_value());
  CHECK(found().size() == 1);
}

TEST_CASE("refusal index: what was refused is kept when the server stops") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token([](auto& t) { t.expect.serial = "SN-OTHER-1"; });
  actors::runtime_options options;
  options.journal = w.journal.get();
  options.time = &w.time;
  options.keys = w.keys;
  options.root_tenant = w.root;
  auto running = actors::runtime::start(options);
  REQUIRE(running);
  auto send = [&](const std::string& text) {
    std::promise<int> status;
    running.value()->daemons().call({wire::encode(w.request(m, text)), "req"},
                                    [&status](const actors::daemon_reply& r) {
                                      status.set_value(r.status);
                                    });
    return status.get_future().get();
  };
  CHECK(send(token.text()) == 403);
  CHECK(send("not a token") == 403);
  running.value()->stop(seconds{10});

  auto of = [&](const tenant_id& owner) {
    auto rows = w.journal->find_refusals(owner.str(), to_hex(m.csr_sha256()), 9)
                    .value();
    return rows.empty() ? events::refused_join{} : rows.front();
  };
  CHECK(of(w.owner).reason == "join:expect");
  CHECK(of(w.owner).token == token.token.id.str());
  CHECK(of(w.owner).details.find("SN-OTHER-1") != std::string::npos);
  CHECK(of(w.root).reason == "join-token:malformed");
  CHECK(of(w.root).details == "{}");
  // The events tell none of it.
  const auto all = w.journal->read_all(0, 1000).value();
  for (const auto& e : all) {
    if (e.type != "security.join.refused")
      continue;
    CHECK((e.data + e.internal).find("SN-") == std::string::npos);
  }
  CHECK(w.count("security.join.refused") == 2);
}

}  // namespace
}  // namespace bc::test
