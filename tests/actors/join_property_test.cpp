#include "events/catalog.hpp"
#include "tests/actors/join_racing.hpp"

#include <map>
#include <set>

// Random deployments and random joins: what always holds (spec:
// joining#the-join-flow, DESIGN section 3).
namespace bc::test {
namespace {

using events::unmet;
namespace node = events::node;
namespace token_events = events::join_token;

/// Looks at every batch that would write.
class watching_ledger : public shuffled_ledger {
 public:
  using shuffled_ledger::shuffled_ledger;
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (b.has_events())
      check(b);
    shuffled_ledger::append(std::move(b), std::move(done));
  }
  int batches = 0;

 private:
  static bool pins(const events::batch& b, std::string_view kind) {
    return std::ranges::any_of(b.writes, [&](const auto& w) {
      return events::kind_of(w.stream) == kind && w.expected_version;
    });
  }
  static bool holds(const events::batch& b, std::string_view type) {
    return std::ranges::any_of(b.writes, [&](const auto& w) {
      return std::ranges::any_of(w.events,
                                 [&](const auto& e) { return e.type == type; });
    });
  }
  // No batch without its preconditions.
  void check(const events::batch& b) {
    ++batches;
    CHECK(pins(b, "node"));
    CHECK(pins(b, "site"));
    CHECK(pins(b, "tenant"));
    if (!holds(b, "node.joined")) {
      CHECK(holds(b, "node.clone-suspected"));
      return;
    }
    CHECK(b.answers_free.size() == 1);
    CHECK(b.valid_until);
    CHECK(holds(b, "security.join-token.redeemed"));
    bool has_pool = false;
    for (const auto& w : b.writes)
      for (const auto& e : w.events)
        has_pool = has_pool || e.data.find("poolId") != std::string::npos;
    CHECK(pins(b, "pool") == has_pool);
  }
};

class random_world : public join_world {
 public:
  explicit random_world(unsigned seed) : random_(seed) {
    sites_ = {site, new_site(root, events::site::kind::shared), new_site()};
    for (const auto& s : sites_) {
      pools_.push_back({new_pool(owner, s, events::pool::agent::bcd), s});
      pools_.push_back({new_pool(owner, s, events::pool::agent::bcd,
                                 {{}, coin(), {"burn-in"}}),
                        s});
    }
    pools_.push_back(
        {new_pool(owner, site, events::pool::agent::bcd, {{"tpm"}, false, {}}),
         site});
  }

  std::size_t below(std::size_t n) { return random_() % n; }
  bool coin(std::size_t one_in = 2) { return below(one_in) == 0; }

  void step() {
    time.advance(seconds{static_cast<std::int64_t>(below(400))});
    switch (below(12)) {
      case 0:
        return move_a_node();
      case 1:
        return end_something();
      case 2:
      case 3:
      case 4:
        return mint_one();
      default:
        return join_some();
    }
  }

  void check_all() {
    for (const auto& t : tokens_)
      CHECK(uses_left(t) >= 0);
    std::map<std::string, std::size_t> redeemed;
    std::set<std::string> nodes;
    const auto all = journal->read_all(0, 100'000).value();
    for (const auto& e : all) {
      if (e.type == "security.join-token.redeemed")
        ++redeemed[e.stream];
      if (events::kind_of(e.stream) == "node")
        nodes.insert(e.stream);
    }
    for (const auto& t : tokens_)
      CHECK(redeemed[events::stream_of(t.token.id)] ==
            static_cast<std::size_t>(t.token.max_uses - uses_left(t)));
    for (const auto& stream : nodes)
      check_node(node(node_id::parse(stream.substr(5)).value()), stream);
    CHECK(journal->verify({events::moves_of}).has_value());
  }

  int batches = 0, admitted = 0, refused = 0;

 private:
  struct placed_pool {
    pool_id id;
    site_id where;
  };

  void check_node(const node::state& s, const std::string& stream) {
    std::size_t live = 0;
    for (const auto& i : s.certificates) {
      if (!node::is_live(i, time.now()))
        continue;
      ++live;
      CHECK(i.cert.generation == s.generation);
    }
    CHECK(live <= 1);
    const auto& j = *s.node;
    // Known hardware is one node's, from its first join to its end.
    if (node::holds_hardware(s, j.hardware_key)) {
      auto holder = journal->holder(node::hardware_claim(j.hardware_key));
      REQUIRE(holder.value());
      CHECK(holder.value()->stream == stream);
    }
    CHECK((!j.reclaim || j.hardware_key_trusted));
    if (j.node_trust == node::trust::tenant_controlled)
      CHECK(j.cert.role == pki::certificate_role::node_tenant);
  }

  void mint_one() {
    const auto& pool = pools_[below(pools_.size())];
    tokens_.push_back(mint_token([&](token_events::created& t) {
      t.pool = pool.id;
      t.site = pool.where;
      t.max_uses = static_cast<std::int64_t>(1 + below(3));
      t.allow_reclaim = coin();
      t.token_role = coin(6) ? static_cast<token_events::role>(below(4))
                             : token_events::role::node;
      if (t.token_role == token_events::role::site)
        t.pool.reset();
      // Agents and ramdisks are not hosted.
      if (coin(4) && pki::certificate_role::node ==
                         token_events::admits(t.token_role, false))
        t.hosted = "kubernetes";
      if (coin(8))
        t.expect.serial = make_machine(machine_number()).claims.product_serial;
      t.expires_at =
          time.now() + seconds{60 + 600 * static_cast<int>(below(4))};
    }));
  }

  int machine_number() { return static_cast<int>(below(6)); }

  wire::join_request some_request(int machine_number) {
    // One of the newest, or most would be over.
    const auto newest = std::min<std::size_t>(tokens_.size(), 5);
    const auto& t = tokens_[tokens_.size() - 1 - below(newest)];
    auto m = make_machine(machine_number);
    if (coin(8))
      m.claims.product_serial = "Default string";
    auto r = request(m, t.text());
    r.site_id = coin(12) ? site.str() : t.token.site.str();
    r.role = coin(12) ? "node"
                      : std::string{pki::role_text(token_events::admits(
                            t.token.token_role, t.token.hosted.has_value()))};
    return r;
  }

  // One to four at once.
  void join_some() {
    if (tokens_.empty())
      return;
    auto watching = std::make_shared<watching_ledger>(
        *journal, time, static_cast<unsigned>(random_()));
    std::vector<std::string> bodies;
    auto number = machine_number();
    for (auto n = 1 + below(4); n > 0; --n) {
      if (coin())
        number = machine_number();
      bodies.push_back(bodies.empty() || !coin(4)
                           ? wire::encode(some_request(number))
                           : bodies.back());
    }
    for (const auto& body : bodies)
      actors::run_join(environment(), watching, {body, "req"},
                       [this](const wire::join_answer& a) { count(a); });
    watching->run_all();
    batches += watching->batches;
  }

  void count(const wire::join_answer& a) {
    if (a.what == wire::join_answer::kind::joined)
      ++admitted;
    else if (a.code == errc::access_denied)
      ++refused;
    else
      CHECK((a.code == errc::conflict || a.code == errc::unavailable));
  }

  void move_a_node() {
    auto all = journal->read_all(0, 100'000).value();
    std::vector<node_id> nodes;
    for (const auto& e : all)
      if (e.type == "node.joined")
        nodes.push_back(node_id::parse(e.stream.substr(5)).value());
    if (nodes.empty())
      return;
    const auto& id = nodes[below(nodes.size())];
    if (node(id).current == node::status::retired)
      return;
    switch (below(4)) {
      case 0:
        return command(id, node::adopt{time.now()});
      case 1:
        return command(id, node::cordon{time.now(), "x"});
      case 2:
        return command(id, node::revoke_identity{time.now(), ""});
      default:
        return retire(id);
    }
  }

  void end_something() {
    if (!tokens_.empty() && coin()) {
      revoke(tokens_[below(tokens_.size())]);
    } else if (coin(4) && pools_.size() > 3) {
      archive(pools_.back().id);
      pools_.pop_back();
    }
  }

  std::minstd_rand random_;
  std::vector<site_id> sites_;
  std::vector<placed_pool> pools_;
  std::vector<minted> tokens_;
};

TEST_CASE("join: whatever happens, tokens, nodes and hardware stay right") {
  int admitted = 0, refused = 0, batches = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    random_world w{Catch::rngSeed() * 100 + seed};
    for (int i = 0; i < 60; ++i)
      w.step();
    w.check_all();
    admitted += w.admitted;
    refused += w.refused;
    batches += w.batches;
  }
  // It was not all refused, nor all let in.
  CHECK(admitted > 30);
  CHECK(refused > 30);
  CHECK(batches > 30);
}

}  // namespace
}  // namespace bc::test
