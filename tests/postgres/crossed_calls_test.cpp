// Case 163: two server processes on one Postgres, whose read models a tailer
// keeps, and what touches the same machines and tokens from all sides at once.
#include "events/event_names.hpp"
#include "tests/actors/renew_world.hpp"
#include "tests/actors/two_processes.hpp"
#include "tests/postgres/read_models.hpp"
#include "tests/support/postgres_store.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace bc::test {
namespace {

/// Answers to what was asked at once, each where it was asked.
template <class Reply>
using answers = std::deque<collected<Reply>>;

class crossing {
 public:
  crossing() {
    models_.follow(*t_.w.journal);
    t_.before_start = [this](process&, actors::runtime_options& o) {
      o.queries = queries_.emplace_back(models_.queries()).get();
    };
    t_.start(milliseconds{50});
  }
  crossing(const crossing&) = delete;
  crossing& operator=(const crossing&) = delete;
  ~crossing() { models_.tailers.clear(); }

  /// As many rounds at once as there are machines.
  void wave(int n) {
    // The waves before are no clones.
    t_.w.time.advance(seconds{660});
    time_.advance(seconds{660});
    for (std::size_t i = 0; i < machines; ++i)
      if ((static_cast<std::size_t>(n) + i) % 2 == 0)
        cordon(at(i), i);
    answers<daemon_reply> joins, renewals;
    answers<api_reply> calls;
    std::vector<pki::private_key> joining, renewing;
    std::vector<std::size_t> renewed;
    for (std::size_t i = 0; i < machines; ++i) {
      tokens_.push_back(t_.w.mint_token([](auto& token) {
        token.max_uses = 3;
        token.allow_reclaim = true;
      }));
      const auto& token = tokens_.back();
      auto& one = at(i + static_cast<std::size_t>(n));
      auto& other = at(i + static_cast<std::size_t>(n) + 1);
      // Two machines by this token, and each machine by two tokens.
      for (auto [who, by] : {std::pair{i, &one}, {(i + 1) % machines, &other}})
        joining.push_back(join(*by, who, token, joins.emplace_back()));
      // It wins against most joins, so some tokens are left alone.
      if ((static_cast<std::size_t>(n) + i) % 3 != 0)
        call(other, "joinTokens.revoke",
             ",\"poolId\":\"" + t_.w.pool.str() + "\",\"tokenId\":\"" +
                 token.token.id.str() + "\"",
             calls.emplace_back());
      call(one, "nodes.list", "", calls.emplace_back());
      if (const auto& m = known_[i]) {
        auto next = pki::private_key::generate();
        one.server->daemons().call(
            call_of(renewal_of(*m, next, t_.w.time.now()), m->leaf()),
            renewals.emplace_back().take());
        renewed.push_back(i);
        renewing.push_back(std::move(next));
        call(other, "nodes.delete", naming(*m), calls.emplace_back());
      }
    }
    for (auto& c : calls)
      count("call", c.wait_for(1).front());
    for (std::size_t k = 0; k < renewed.size(); ++k)
      learn(renewed[k], renewals[k].wait_for(1).front(), renewing[k], "renew");
    for (std::size_t k = 0; k < joining.size(); ++k)
      learn(k % 2 == 0 ? k / 2 : (k / 2 + 1) % machines,
            joins[k].wait_for(1).front(), joining[k], "join");
  }

  void check() {
    t_.stop();
    CAPTURE(told());
    // No fault of ours, and of each kind many went well.
    CHECK(count_["call 500"] + count_["renew 500"] + count_["join 500"] == 0);
    for (const auto* kind : {"call 200", "renew 200", "join 200", "join 403"})
      CHECK(count_[kind] > 0);
    CHECK(t_.w.count(events::name::node_retired) > 0);

    std::map<std::string, std::int64_t> nodes;
    const auto all = t_.w.journal->read_all(0, 100'000).value();
    for (const auto& e : all)
      if (e.type == events::name::node_joined)
        ++nodes[std::get<events::node::joined>(events::node::decode(e).value())
                    .token];
    models_.settle(*t_.w.journal);
    auto db = testing::connect(models_.schema.url());
    for (const auto& token : tokens_) {
      const auto id = token.token.id.str();
      INFO(id);
      const auto left = t_.w.uses_left(token);
      CHECK(left + nodes[id] == token.token.max_uses);
      auto row = db->prepare("select uses_left from join_tokens where id = ?");
      REQUIRE(row);
      REQUIRE(row.value().bind(1, id).step());
      CHECK(row.value().number(0) == left);
    }
    t_.check_journal();
  }

 private:
  static constexpr std::size_t machines = 4;

  process& at(std::size_t n) { return n % 2 == 0 ? t_.a : t_.b; }

  static std::string naming(const member& m) {
    return ",\"nodeId\":\"" + m.id.str() + "\"";
  }
  void call(process& by, const std::string& method, const std::string& more,
            collected<api_reply>& to) {
    const auto dot = method.find('.');
    by.server->api().call(
        {method.substr(0, dot), method.substr(dot + 1), "Bearer " + key_,
         "{\"tenantId\":\"" + t_.w.owner.str() + "\"" + more + "}", "req", ""},
        to.take());
  }
  // Only a cordoned node can be deleted.
  void cordon(process& by, std::size_t who) {
    if (!known_[who])
      return;
    collected<api_reply> one;
    call(by, "nodes.cordon", naming(*known_[who]), one);
    count("cordon", one.wait_for(1).front());
  }
  pki::private_key join(process& by, std::size_t who, const minted& token,
                        collected<daemon_reply>& to) {
    auto m = make_machine(static_cast<int>(who));
    by.server->daemons().call(
        {wire::encode(t_.w.request(m, token.text())), "req", {}}, to.take());
    return std::move(m.key);
  }
  template <class Reply>
  void count(const std::string& kind, const Reply& r) {
    ++count_[kind + ' ' + std::to_string(r.status)];
  }
  void learn(std::size_t who, const daemon_reply& r,
             const pki::private_key& key, const std::string& kind) {
    count(kind, r);
    if (r.status == 200)
      known_[who].emplace(member_of(answer_in(r), key));
  }
  [[nodiscard]] std::string told() const {
    std::string out;
    for (const auto& [kind, n] : count_)
      out += kind + ": " + std::to_string(n) + "\n";
    return out;
  }

  testing::postgres_models models_;
  events::testing::postgres_clock time_{models_.schema.url(), start_of_time};
  std::deque<std::unique_ptr<projections::queries>> queries_;
  two_processes t_{[this](const clock&) {
    return events::testing::open_store(models_.schema.url());
  }};
  const std::string key_ = t_.credential();
  std::array<std::optional<member>, machines> known_;
  std::vector<minted> tokens_;
  std::map<std::string, int> count_;
};

void run_rounds(int rounds) {
  crossing c;
  for (int n = 0; n < rounds / 4; ++n)
    c.wave(n);
  c.check();
}

}  // namespace

TEST_CASE(
    "two processes: joins, revocations, deletions, lists and renewals of the "
    "same at once neither deadlock nor miscount (case 163)",
    "[postgres][actors]") {
  run_rounds(80);
}

TEST_CASE("two processes: the same for a thousand rounds (case 163)",
          "[.long][postgres][actors]") {
  run_rounds(1'000);
}

}  // namespace bc::test
