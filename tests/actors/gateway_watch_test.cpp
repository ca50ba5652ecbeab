// Gateways that die without a word (DESIGN 7): their sessions end, and no
// others.
#include "actors/gateway_watch.hpp"

#include "actors/runtime.hpp"
#include "events/event_names.hpp"
#include "tests/actors/disturbed_ledgers.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/actors/session_world.hpp"
#include "tests/support/eventually.hpp"

namespace bc::test {
namespace {

namespace node = events::node;
constexpr auto ended = events::name::node_disconnected;
constexpr milliseconds silence = actors::gateway_silence;

/// What the read models say of sessions, which may be behind.
class session_rows final : public sample_queries {
 public:
  result<std::optional<std::string>> next_gateway(
      std::string_view after) override {
    auto found = rows.upper_bound(std::string{after});
    return found == rows.end() ? std::nullopt : std::optional{found->first};
  }
  result<std::vector<std::string>> nodes_at(std::string_view gateway,
                                            int) override {
    return rows[std::string{gateway}];
  }
  std::map<std::string, std::vector<std::string>> rows;
};

class gateways_world : public join_world {
 public:
  session_member connected(int n, const std::string& gateway) {
    auto m = member_of(join(make_machine(n), mint_token().text()).answer);
    command(m.id, node::connect{time.now(), "sess_" + std::to_string(n),
                                gateway, "192.0.2.1", "0.1.0", "aa"});
    models.rows[gateway].push_back(m.id.str());
    return m;
  }
  bool is_connected(const session_member& m) {
    return node::live_session(node(m.id)) != nullptr;
  }
  /// True: all went well.
  bool look(std::vector<std::string> here, bool judges = true) {
    return look(std::move(here), [judges] { return judges; });
  }
  bool look(std::vector<std::string> here, std::function<bool()> judges) {
    int done = 0;
    bool well = false;
    actors::look_after_gateways(
        std::make_shared<sync_ledger>(*journal, time, &models),
        {presence.get(), std::move(here), std::move(judges)},
        [&](bool went_well) {
          ++done;
          well = went_well;
        });
    CHECK(done == 1);
    return well;
  }

  session_rows models;
  std::unique_ptr<events::gateway_presence> presence =
      events::make_memory_presence(time);
};

}  // namespace

TEST_CASE_METHOD(gateways_world,
                 "gateway watch: only a gateway that nobody hears of is lost",
                 "[actors]") {
  auto here = connected(1, "gw_here");
  auto elsewhere = connected(2, "gw_elsewhere");
  auto gone = connected(3, "gw_gone");
  look({"gw_here"});
  // The other process's look.
  REQUIRE(presence->seen(std::vector<std::string>{"gw_elsewhere", "gw_gone"}));
  time.advance(silence - milliseconds{1});
  REQUIRE(presence->seen(std::vector<std::string>{"gw_elsewhere"}));
  look({"gw_here"});
  CHECK(count(ended) == 0);
  time.advance(milliseconds{1});
  // A process that only began gives nobody up.
  look({"gw_here"}, false);
  CHECK(count(ended) == 0);
  look({"gw_here"});
  CHECK(is_connected(here));
  CHECK(is_connected(elsewhere));
  CHECK_FALSE(is_connected(gone));
  CHECK(node(gone.id).session_over->reason == node::session_end::gateway_lost);
  // The rows are behind: nothing more is told.
  look({"gw_here"});
  CHECK(count(ended) == 1);
  auto event = after(head() - 1).at(0);
  CHECK(event.actor == "system");
  CHECK(event.tenant == owner.str());
}

TEST_CASE_METHOD(gateways_world,
                 "gateway watch: a session that is young is left alone, "
                 "whoever heard of its gateway",
                 "[actors]") {
  auto old = connected(1, "gw_new");
  time.advance(silence);
  auto young = connected(2, "gw_new");
  look({});
  CHECK_FALSE(is_connected(old));
  CHECK(is_connected(young));
  // It went to another gateway meanwhile.
  time.advance(silence);
  command(young.id, node::connect{time.now(), "sess_9", "gw_other", "192.0.2.1",
                                  "0.1.0", "aa"});
  time.advance(silence);
  look({"gw_other"});
  CHECK(is_connected(young));
}

TEST_CASE_METHOD(gateways_world,
                 "gateway watch: a store that is away ends nobody",
                 "[actors]") {
  class away final : public events::gateway_presence {
   public:
    result<void> seen(std::span<const std::string>) override {
      return broken ? fail(errc::unavailable, "away") : result<void>{ok()};
    }
    result<std::optional<milliseconds>> silent_for(std::string_view) override {
      return fail(errc::unavailable, "away");
    }
    bool broken = false;
  };
  auto m = connected(1, "gw_1");
  time.advance(2 * silence);
  auto store = std::make_unique<away>();
  store->broken = GENERATE(true, false);
  presence = std::move(store);
  CHECK_FALSE(look({}));
  CHECK(is_connected(m));
  CHECK(count(ended) == 0);
}

TEST_CASE_METHOD(gateways_world,
                 "gateway watch: who may be judged is asked once the store has "
                 "heard who is here",
                 "[actors]") {
  class slow final : public events::gateway_presence {
   public:
    result<void> seen(std::span<const std::string>) override {
      heard = true;
      return ok();
    }
    result<std::optional<milliseconds>> silent_for(std::string_view) override {
      return std::optional<milliseconds>{};
    }
    bool heard = false;
  };
  auto m = connected(1, "gw_1");
  time.advance(2 * silence);
  auto store = std::make_unique<slow>();
  auto& heard = store->heard;
  presence = std::move(store);
  // It took until too long after the last look.
  CHECK(look({}, [&heard] { return !heard; }));
  CHECK(heard);
  CHECK(is_connected(m));
}

TEST_CASE("gateway watch: judged after looks that went well without a break",
          "[actors]") {
  using looks = actors::unbroken_looks;
  constexpr milliseconds every{5'000};
  looks l;
  looks::steady::time_point now{seconds{1'000}};
  auto look_for = [&](milliseconds span) {
    for (auto end = now + span; now < end;) {
      now += every;
      l.ended(true, now);
    }
  };
  CHECK_FALSE(l.may_judge(now));
  look_for(every);
  look_for(silence - every);
  CHECK_FALSE(l.may_judge(now));
  look_for(every);
  CHECK(l.may_judge(now));
  SECTION("the store was away for a while, and said so") {
    now += every;
    l.ended(false, now);
  }
  SECTION("it said nothing until it was back, or the process stood still") {
    now += looks::longest_gap + milliseconds{1};
    CHECK_FALSE(l.may_judge(now));
    l.ended(true, now);
  }
  CHECK_FALSE(l.may_judge(now));
  look_for(silence);
  CHECK_FALSE(l.may_judge(now + looks::longest_gap + milliseconds{1}));
  look_for(every);
  CHECK(l.may_judge(now));
}

TEST_CASE_METHOD(gateways_world,
                 "gateway watch: a stream that cannot be read holds up nobody",
                 "[actors]") {
  const auto trouble = GENERATE(errc::internal, errc::unavailable);
  std::vector<session_member> all;
  for (int i = 0; i < 3; ++i)
    all.push_back(connected(i, "gw_gone"));
  time.advance(2 * silence);
  auto streams = std::make_shared<damaged_ledger>(*journal, time, &models);
  // The first that is looked at.
  streams->bad = all.back().id;
  streams->trouble = trouble;
  std::vector<bool> done;
  actors::look_after_gateways(streams,
                              {presence.get(), {}, [] { return true; }},
                              [&](bool well) { done.push_back(well); });
  const bool away = trouble == errc::unavailable;
  CHECK(done == std::vector{!away});
  CHECK(count(ended) == (away ? 0U : 2U));
}

TEST_CASE("gateway watch: who is here, with several connections", "[actors]") {
  actors::gateways_here here;
  using names = std::vector<std::string>;
  CHECK(here.all().empty());
  here.set("gw_1", true);
  here.set("gw_1", true);
  here.set("gw_1", false);
  CHECK(here.all() == names{"gw_1"});
  here.set("gw_1", false);
  CHECK(here.all().empty());
  here.set("gw_1", false);
  here.set("gw_1", true);
  CHECK(here.all() == names{"gw_1"});
}

TEST_CASE_METHOD(gateways_world, "gateway watch: a server keeps who is here",
                 "[actors]") {
  actors::runtime_options o;
  o.journal = journal.get();
  o.queries = &models;
  o.presence = presence.get();
  o.time = &time;
  o.keys = keys;
  o.root_tenant = root;
  o.watch_gateways_every = milliseconds{1};
  auto server = actors::runtime::start(std::move(o)).value();
  server->gateway_here("gw_1", true);
  CHECK(eventually([&] { return bool{presence->silent_for("gw_1").value()}; }));
  server->stop(seconds{30});
  CHECK_FALSE(presence->silent_for("gw_2").value());
}

}  // namespace bc::test
