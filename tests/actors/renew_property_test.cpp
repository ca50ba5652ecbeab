#include "events/catalog.hpp"
#include "tests/actors/join_racing.hpp"
#include "tests/actors/renew_world.hpp"

#include <map>
#include <random>

// Random lives of nodes: what always holds (spec: joining#renewal).
namespace bc::test {
namespace {

namespace node = events::node;

class random_lives : public renew_world {
 public:
  explicit random_lives(unsigned seed) : random_(seed) {
    for (int i = 0; i < machines; ++i)
      members_.push_back(admit(i));
  }

  void step() {
    time.advance(seconds{static_cast<std::int64_t>(below(5'000))});
    switch (below(10)) {
      case 0:
        return reclaim_one();
      case 1:
        return end_one();
      default:
        return renew_some();
    }
  }

  void check_all() {
    std::map<std::string, std::size_t> seen;
    for (const auto& m : members_) {
      const auto s = node(m.id);
      if (seen[m.id.str()]++ > 0)
        continue;
      for (const auto& i : s.certificates)
        if (node::is_live(i, time.now())) {
          // Of one generation, the node's, and of no node that is over.
          CHECK(i.cert.generation == s.generation);
          CHECK(s.current != node::status::retired);
        }
    }
    check_history();
    CHECK(journal->verify({events::moves_of}).has_value());
  }

  int renewals = 0, refusals = 0;

 private:
  static constexpr int machines = 4;

  std::size_t below(std::size_t n) { return random_() % n; }

  void reclaim_one() {
    auto m = make_machine(static_cast<int>(below(machines)));
    auto token = mint_token([](auto& t) { t.allow_reclaim = true; });
    // Refused perhaps, as the third in ten minutes.
    if (auto got = join(m, token.text()); joined(got))
      members_.push_back(member_of(got.answer, m.key));
  }

  void end_one() {
    if (members_.empty())
      return;
    const auto& id = members_[below(members_.size())].id;
    if (node(id).current == node::status::retired)
      return;
    if (below(3) == 0)
      return retire(id);
    command(id, node::revoke_identity{time.now(), ""});
  }

  // Up to four at once, by old certificates and new.
  void renew_some() {
    if (members_.empty())
      return;
    auto shuffled = std::make_shared<shuffled_ledger>(
        *journal, time, static_cast<unsigned>(random_()));
    std::vector<member> next;
    std::vector<std::pair<node_id, pki::private_key>> keys;
    const auto count = 1 + below(4);
    keys.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& m = members_[below(members_.size())];
      auto key = pki::private_key::generate();
      const auto r = renewal(m, key);
      keys.emplace_back(m.id, std::move(key));
      auto done = [this, &next, k = &keys.back()](wire::join_answer a) {
        if (a.what == wire::join_answer::kind::renewed) {
          ++renewals;
          next.push_back(member_of(a, k->second));
        } else if (a.code == errc::access_denied) {
          ++refusals;
        } else {
          CHECK(a.code == errc::unavailable);
        }
      };
      actors::run_renew(renewing(), shuffled, call_of(r, m.leaf()), done);
    }
    // Among them an operator.
    if (below(4) == 0)
      end_one();
    shuffled->run_all();
    for (auto& m : next)
      members_.push_back(std::move(m));
  }

  // No renewal of a certificate that was revoked, over or of another
  // generation, nor of a node that was retired.
  void check_history() {
    struct life {
      std::map<std::string, std::pair<std::int64_t, time_point>> live;
      std::int64_t generation = 0;
      bool over = false;
    };
    std::map<std::string, life> lives;
    const auto all = journal->read_all(0, 100'000).value();
    for (const auto& e : all) {
      if (events::kind_of(e.stream) != "node")
        continue;
      auto& l = lives[e.stream];
      const auto event = node::decode(e).value();
      if (const auto* j = std::get_if<node::joined>(&event)) {
        l.generation = j->cert.generation;
        l.live[j->cert.serial] = {l.generation, j->cert.not_after};
      } else if (const auto* v =
                     std::get_if<node::certificate_revoked>(&event)) {
        l.live.erase(v->serial);
      } else if (std::holds_alternative<node::retired>(event)) {
        l.over = true;
      } else if (const auto* r = std::get_if<node::renewed>(&event)) {
        CHECK_FALSE(l.over);
        REQUIRE(l.live.contains(r->previous_serial));
        CHECK(l.live[r->previous_serial].first == l.generation);
        CHECK(e.time < l.live[r->previous_serial].second);
        CHECK(r->cert.generation == l.generation);
        l.live[r->cert.serial] = {l.generation, r->cert.not_after};
      }
    }
  }

  std::minstd_rand random_;
  std::vector<member> members_;
};

TEST_CASE("renew: whatever happens, no dead certificate is renewed") {
  int renewals = 0, refusals = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    random_lives w{Catch::rngSeed() * 100 + seed};
    for (int i = 0; i < 40; ++i)
      w.step();
    w.check_all();
    renewals += w.renewals;
    refusals += w.refusals;
  }
  // It was not all refused, nor all let through.
  CHECK(renewals > 30);
  CHECK(refusals > 30);
}

}  // namespace
}  // namespace bc::test
