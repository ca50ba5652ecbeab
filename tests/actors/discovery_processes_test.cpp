// Boot leases and vouches at two server processes on one journal, neither of
// which hears of what the other does (spec: ATTESTATION section 4; DESIGN 3).
#include "base/wire_boot_lease.hpp"
#include "events/event_names.hpp"
#include "tests/actors/discovery_world.hpp"
#include "tests/actors/two_processes.hpp"

namespace bc::test {
namespace {

namespace name = events::name;

class vouching_processes : public two_processes {
 public:
  vouching_processes() {
    w.discovery.emplace();
    w.discovery->approval = actors::discovery_approval::never;
    w.discovery->pools = {{w.site, w.pool}};
  }

  wire::boot_lease_body lease(process& at, const site_agent& agent,
                              bool release = false) {
    const auto reply = at.ask(lease_call(agent, w.site, release));
    INFO(reply.body);
    REQUIRE(reply.status == 200);
    return wire::decode_boot_lease_body(reply.body).value();
  }
  [[nodiscard]] actors::daemon_call vouched(const machine& m, int n,
                                            const site_agent& by,
                                            std::int64_t epoch) const {
    auto r = ask(m, w.site);
    r.discovery->vouch = vouch_for(r, mac_of(n), by, epoch, w.time.now());
    return {wire::encode(r), "req-1"};
  }

  site_agent one = join_agent(w, 901), two = join_agent(w, 902);
};

}  // namespace

TEST_CASE_METHOD(vouching_processes,
                 "boot lease: of two agents at two processes one has it",
                 "[actors][shared]") {
  start(no_tail);
  CHECK(lease(a, one).held);
  auto other = lease(b, two);
  CHECK_FALSE(other.held);
  CHECK(other.holder == one.id.str());
  // What b knows is old now.
  lease(a, one, true);
  CHECK(lease(a, two).epoch == 2);
  CHECK(lease(b, two).held);
  CHECK_FALSE(lease(b, one).held);
  CHECK(w.count(name::boot_lease_acquired) == 2);
  stop();
  check_journal();
}

TEST_CASE_METHOD(vouching_processes,
                 "discovery: a process that has not heard of the new agent "
                 "takes its word, and the old one's no more",
                 "[actors][shared]") {
  start(no_tail);
  CHECK(lease(a, one).held);
  CHECK_FALSE(lease(b, two).held);
  lease(a, one, true);
  CHECK(lease(a, two).epoch == 2);
  const auto m = ramdisk(1);
  CHECK(b.ask(vouched(m, 1, one, 1)).status == 403);
  CHECK(b.ask(vouched(m, 1, two, 2)).status == 200);
  CHECK(w.count(name::node_joined) == 3);
  stop();
  check_journal();
}

TEST_CASE_METHOD(vouching_processes,
                 "discovery: a process that never heard of a lease finds it",
                 "[actors][shared]") {
  start(no_tail);
  const auto m = ramdisk(1);
  CHECK(b.ask(vouched(m, 1, one, 1)).status == 403);
  CHECK(lease(a, one).held);
  CHECK(b.ask(vouched(m, 1, one, 1)).status == 200);
  stop();
  check_journal();
}

TEST_CASE_METHOD(vouching_processes,
                 "discovery: one request at two processes at once is one node",
                 "[actors][shared]") {
  start(no_tail);
  CHECK(lease(a, one).held);
  CHECK_FALSE(lease(b, two).held);
  const auto m = ramdisk(1);
  const auto call = vouched(m, 1, one, 1);
  race_first_appends();
  collected<daemon_reply> both;
  for (auto* p : {&a, &b})
    p->server->daemons().call(call, both.take());
  const auto replies = both.wait_for(2);
  for (const auto& r : replies) {
    INFO(r.body);
    CHECK(r.status == 200);
  }
  auto body_of = [](const daemon_reply& r) {
    return wire::decode_join_answer(r.status, r.body).value().body;
  };
  CHECK(body_of(replies[0]) == body_of(replies[1]));
  CHECK(w.count(name::node_joined) == 3);
  stop();
  check_journal();
}

}  // namespace bc::test
