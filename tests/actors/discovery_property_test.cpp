// Whatever agents, machines and operators do, in any order: nobody joins by a
// vouch that is not worth it, and nothing is spent but by who joined (spec:
// ATTESTATION section 4).
#include "actors/boot_lease/lease_flow.hpp"
#include "events/catalog.hpp"
#include "events/event_names.hpp"
#include "tests/actors/discovery_world.hpp"

#include <random>
#include <set>

namespace bc::test {
namespace {

namespace request = events::join_request;
using actors::discovery_approval;

/// A machine with the request it comes with, and the answer it had to it.
struct visitor {
  int n;
  machine m = ramdisk(n);
  minted token;
  std::string waits = {};  // a request's id
  std::string answer = {};
  std::string last_vouch = {};
};

class crowd : public discovery_world {
 public:
  explicit crowd(unsigned seed) : random_(seed), b(new_agent(901)) {
    discovery->pools = {{site, pool}};
    for (int n = 1; n <= 3; ++n)
      visitors.push_back({n, ramdisk(n), discovery_token(n)});
  }

  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  const site_agent& some_agent() { return one_in(2) ? a : b; }

  void step() {
    time.advance(milliseconds{static_cast<int>(below(20'000))});
    switch (below(8)) {
      case 0:
      case 1:
        return ask_for_lease(some_agent(), one_in(4));
      case 2:
        return decide_on(visitors[below(visitors.size())]);
      case 3:
        return start_again(visitors[below(visitors.size())]);
      default:
        return attempt(visitors[below(visitors.size())]);
    }
  }

  std::set<std::string> ends;

 private:
  void ask_for_lease(const site_agent& who, bool gives_up) {
    actors::run_boot_lease(std::make_shared<actors::boot_lease_environment>(),
                           ledger, lease_call(who, site, gives_up),
                           [](const actors::daemon_outcome& out) {
                             REQUIRE(out.reply.status == 200);
                           });
  }

  void decide_on(visitor& v) {
    if (v.waits.empty())
      return;
    const auto s = request_of(v.waits);
    if (status_at(s, time.now()) != request::status::pending)
      return;
    one_in(4) ? reject(v.waits, pool) : approve(v.waits, pool, seconds{60});
  }

  void start_again(visitor& v) {
    v.m = ramdisk(v.n);
    v.waits.clear();
    v.answer.clear();
    if (uses_left(v.token) == 0)
      v.token = discovery_token(v.n);
  }

  void attempt(visitor& v) {
    const auto& by = some_agent();
    const bool with_token = one_in(3);
    const bool is_old = one_in(6) && !v.last_vouch.empty();
    const auto epoch = one_in(6) ? -1 : 0;
    discovery->approval = static_cast<discovery_approval>(below(3));
    auto r = ask(v.m);
    if (with_token)
      r.discovery->sealed_token = seal_for(r, v.token.text());
    r.discovery->vouch =
        is_old ? v.last_vouch : vouch_for(r, mac_of(v.n), by, [&](auto& says) {
          says.boot_lease_epoch =
              std::max<std::int64_t>(1, says.boot_lease_epoch + epoch);
        });
    const auto read =
        std::get<pki::vouch::vouch>(pki::vouch::read(r.discovery->vouch));
    const auto held = lease();
    const auto* live = live_lease(held, time.now());
    const bool is_worth_it =
        live != nullptr && live->epoch == read.says.boot_lease_epoch &&
        read.certificate ==
            pki::sha256((live->holder == a.id ? a : b).certificate) &&
        pki::vouch::is_live(read.says, time.now());
    const auto uses = uses_left(v.token);
    const bool was_approved =
        !v.waits.empty() &&
        status_at(request_of(v.waits), time.now()) == request::status::approved;
    const auto nodes = count(events::name::node_joined);

    auto t = join(r);
    v.last_vouch = r.discovery->vouch;
    if (joined(t)) {
      ends.insert(t.answer.body == v.answer ? "again" : "joined");
      CHECK(pki::vouch::is_live(read.says, time.now()));
      if (t.answer.body == v.answer) {
        CHECK(count(events::name::node_joined) == nodes);
        CHECK(uses_left(v.token) == uses);
        return;
      }
      CHECK(is_worth_it);
      CHECK(count(events::name::node_joined) == nodes + 1);
      const bool spent = uses_left(v.token) == uses - 1;
      const bool is_open = discovery->approval == discovery_approval::never;
      CHECK((spent || is_open || was_approved));
      CHECK(spent == with_token);
      const auto s = node(node_of(t.answer));
      CHECK(s.certificates.back().cert.not_after <=
            time.now() + pki::max_ramdisk_lifetime);
      v.answer = t.answer.body;
      return;
    }
    CHECK(count(events::name::node_joined) == nodes);
    CHECK(uses_left(v.token) == uses);
    if (deferred(t)) {
      ends.insert("deferred");
      CHECK(is_worth_it);
      CHECK(discovery->approval != discovery_approval::never);
      v.waits = deferred_request(t);
      return;
    }
    REQUIRE(t.reports.size() == 1);
    ends.insert(std::string{events::text_of(t.reports[0].reason)});
    const auto reason = t.reports[0].reason;
    if (!is_worth_it)
      CHECK((reason == events::refusal_reason::discovery_lease ||
             reason == events::refusal_reason::discovery_vouch_expired ||
             reason == events::refusal_reason::discovery_vouch_csr ||
             reason == events::refusal_reason::discovery_vouch_signer ||
             reason == events::refusal_reason::discovery_vouch_replayed));
    if (reason == events::refusal_reason::discovery_lease)
      CHECK_FALSE(is_worth_it);
  }

  std::mt19937 random_;
  site_agent b;
  std::vector<visitor> visitors;
};

}  // namespace

TEST_CASE(
    "discovery: whatever happens, nobody joins by a vouch that is not "
    "worth it",
    "[actors]") {
  std::set<std::string> seen;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    crowd c{seed * 7919};
    for (int i = 0; i < 120; ++i) {
      CAPTURE(i);
      c.step();
    }
    seen.insert(c.ends.begin(), c.ends.end());
    events::verify_request all;
    all.effects = events::moves_of;
    auto good = c.journal->verify(all);
    INFO((good ? "" : good.error().message));
    CHECK(good);
  }
  // It was no test of one refusal alone.
  for (const auto* end :
       {"joined", "again", "deferred", "discovery:lease", "discovery:rejected",
        "discovery:vouch-expired", "discovery:vouch-csr", "discovery:token"}) {
    CAPTURE(end, seen);
    CHECK(seen.contains(end));
  }
}

}  // namespace bc::test
