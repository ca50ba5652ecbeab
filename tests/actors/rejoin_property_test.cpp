#include "events/catalog.hpp"
#include "tests/actors/join_racing.hpp"
#include "tests/actors/rejoin_world.hpp"

#include <map>
#include <random>
#include <set>

// Random lives of machines that are often away: what always holds (spec:
// ATTESTATION section 3).
namespace bc::test {
namespace {

namespace node = events::node;

class random_absences : public rejoin_world {
 public:
  explicit random_absences(unsigned seed) : random_(seed) {
    for (int i = 0; i < machines; ++i)
      holders_.push_back({admit(i), i});
  }

  void step() {
    time.advance(seconds{static_cast<std::int64_t>(below(2 * 86'400))});
    switch (below(12)) {
      case 0:
        return reclaim_one();
      case 1:
        return end_one();
      case 2:
      case 3:
        return renew_one();
      default:
        return rejoin_some();
    }
  }

  void check_all() {
    check_history();
    CHECK(journal->verify({events::moves_of}).has_value());
  }

  int rejoins = 0, refusals = 0;

 private:
  static constexpr int machines = 3;

  /// Who has a certificate and its key, on which machine: its own, mostly.
  struct holder {
    member of;
    int machine = 0;
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  const holder& any() { return holders_[below(holders_.size())]; }

  void reclaim_one() {
    const auto n = static_cast<int>(below(machines));
    auto m = make_machine(n);
    if (auto got = join(m, mint_reclaim_token().text()); joined(got))
      holders_.push_back({member_of(got.answer, m.key), n});
  }

  void end_one() {
    const auto id = any().of.id;
    if (node(id).current != node::status::retired && below(4) != 0)
      command(id, node::revoke_identity{time.now(), ""});
  }

  void renew_one() {
    const auto& h = any();
    const auto machine = h.machine;
    const auto next = pki::private_key::generate();
    if (auto got = renew(renewal(h.of, next), h.of.leaf()); renewed(got))
      holders_.push_back({member_of(got.answer, next), machine});
  }

  // Up to four at once: copies of one machine among them, and a thief.
  void rejoin_some() {
    auto shuffled = std::make_shared<shuffled_ledger>(
        *journal, time, static_cast<unsigned>(random_()));
    std::vector<holder> next;
    std::vector<std::pair<int, pki::private_key>> keys;
    const auto count = 1 + below(4);
    keys.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& h = any();
      const auto machine =
          below(8) == 0 ? (h.machine + 1) % machines : h.machine;
      auto key = pki::private_key::generate();
      const auto r = rejoining(h.of, machine, key);
      keys.emplace_back(machine, std::move(key));
      auto done = [this, &next, k = &keys.back()](wire::join_answer a) {
        if (a.what == wire::join_answer::kind::joined) {
          ++rejoins;
          next.push_back({member_of(a, k->second), k->first});
        } else if (a.code == errc::access_denied) {
          ++refusals;
        } else {
          CHECK(a.code == errc::unavailable);
        }
      };
      actors::run_join(environment(), shuffled, call_of(r), done);
    }
    // Among them an operator.
    if (below(4) == 0)
      end_one();
    shuffled->run_all();
    for (auto& h : next)
      holders_.push_back(std::move(h));
  }

  // Each rejoin is of the next generation, on the node's own hardware, after a
  // certificate of the generation before that nobody had revoked and that was
  // over for at most seven days.
  void check_history() {
    struct life {
      std::int64_t generation = 0;
      std::map<std::string, time_point> usable;  // of the generation
      std::string hardware;
      std::set<std::int64_t> generations;
    };
    std::map<std::string, life> lives;
    const auto all = journal->read_all(0, 100'000).value();
    for (const auto& e : all) {
      if (events::kind_of(e.stream) != "node")
        continue;
      auto& l = lives[e.stream];
      const auto event = node::decode(e).value();
      if (const auto* v = std::get_if<node::certificate_revoked>(&event)) {
        // By the rejoin itself, in the same append: that one may count on it.
        if (v->reason != node::revocation::reclaimed)
          l.usable.erase(v->serial);
      } else if (const auto* r = std::get_if<node::renewed>(&event)) {
        CHECK(r->cert.generation == l.generation);
        l.usable[r->cert.serial] = r->cert.not_after;
      } else if (const auto* j = std::get_if<node::joined>(&event)) {
        CHECK(l.generations.insert(j->cert.generation).second);
        CHECK(j->cert.generation == l.generation + 1);
        if (node::goes_on(*j)) {
          CHECK(
              std::any_of(l.usable.begin(), l.usable.end(), [&](const auto& c) {
                return j->at <= c.second + node::rejoin_window;
              }));
          CHECK(j->hardware_key == l.hardware);
        }
        l.generation = j->cert.generation;
        l.usable = {{j->cert.serial, j->cert.not_after}};
        l.hardware = j->hardware_key;
      }
    }
  }

  std::minstd_rand random_;
  std::vector<holder> holders_;
};

TEST_CASE("rejoin: whatever happens, one comes back by each generation") {
  int rejoins = 0, refusals = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    random_absences w{Catch::rngSeed() * 100 + seed};
    for (int i = 0; i < 40; ++i)
      w.step();
    w.check_all();
    rejoins += w.rejoins;
    refusals += w.refusals;
  }
  // It was not all refused, nor all let through.
  CHECK(rejoins > 10);
  CHECK(refusals > 30);
}

}  // namespace
}  // namespace bc::test
