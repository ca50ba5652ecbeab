// A node's sessions, acceptance and the end of its certificate (DESIGN 7, 8;
// CASES 63, 66, 67, 68).
#include "events/node_sessions.hpp"

#include "events/catalog.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

node::state fold(const std::vector<node::event>& events, node::state s = {}) {
  for (const auto& e : events)
    s = node::evolve(std::move(s), e);
  return s;
}

node::joined join_at(time_point when, bool acceptance = false) {
  sampler random{7};
  auto j = random.node_joined();
  j.hardware_key = std::string(64, 'a');
  j.hardware_key_trusted = true;
  j.acceptance = acceptance;
  j.at = when;
  j.cert.not_before = when - seconds{300};
  j.cert.not_after = when + seconds{86'100};
  j.cert.der = {1, 2, 3};
  return j;
}

node::state joined(bool acceptance = false) {
  return fold(node::decide({}, node::join{join_at(now, acceptance)}).value());
}

/// The same machine again, with another certificate.
node::state reclaimed(const node::state& s, time_point when) {
  auto j = join_at(when, s.node->acceptance);
  j.cert.serial = std::string(32, 'f');
  j.cert.der = {9, 9, 9};
  return fold(node::decide(s, node::join{j}).value(), s);
}

/// From one machine to the other: what each session is opened with.
node::connect session(int number, time_point when) {
  return {when,    "sess_" + std::to_string(number),
          "gw_1",  "198.51.100." + std::to_string(number % 2),
          "0.1.0", "aa"};
}

template <class Command>
std::vector<node::event> decided(const node::state& s, const Command& c) {
  auto out = node::decide(s, c);
  REQUIRE(out);
  return out.value();
}

template <class Command>
node::state after(node::state s, const Command& c) {
  auto events = decided(s, c);
  return fold(events, std::move(s));
}

template <class Event>
std::vector<Event> all_of(const std::vector<node::event>& events) {
  std::vector<Event> out;
  for (const auto& e : events)
    if (const auto* one = std::get_if<Event>(&e))
      out.push_back(*one);
  return out;
}

node::disconnect end_of(int number, time_point when,
                        node::session_end why = node::session_end::closed) {
  return {when, "sess_" + std::to_string(number), why};
}

template <class Event>
Event through(const Event& event) {
  auto write = node::encode(event);
  auto e = stored(write, "node:1");
  CHECK(find_event_type(write.type) != nullptr);
  CHECK(moves_of(e).value() == write.effect);
  auto back = node::decode(e);
  INFO(write.data);
  REQUIRE(back);
  return std::get<Event>(back.value());
}

}  // namespace

TEST_CASE("node sessions: the certificate must be a live one, byte for byte") {
  auto s = joined();
  const auto der = s.certificates[0].cert.der;
  const auto over = s.certificates[0].cert.not_after;
  const auto* good = node::session_certificate(s, der, now);
  REQUIRE(good != nullptr);
  CHECK(good->serial == s.certificates[0].cert.serial);
  CHECK(node::session_certificate(s, der, over - milliseconds{1}) != nullptr);

  // Each row spoils one thing.
  CHECK(node::session_certificate(s, bytes{1, 2}, now) == nullptr);
  CHECK(node::session_certificate(s, bytes{1, 2, 3, 4}, now) == nullptr);
  CHECK(node::session_certificate(s, bytes{1, 2, 4}, now) == nullptr);
  CHECK(node::session_certificate(s, {}, now) == nullptr);
  CHECK(node::session_certificate({}, der, now) == nullptr);
  CHECK(node::session_certificate(s, der, over) == nullptr);
  auto revoked = after(s, node::revoke_identity{now, ""});
  CHECK(node::session_certificate(revoked, der, now) == nullptr);
  auto retired = after(after(s, node::cordon{now, ""}), node::retire{now, ""});
  CHECK(node::session_certificate(retired, der, now) == nullptr);
  // An older generation's is none, also when nothing revoked it.
  auto older = s;
  older.generation = 2;
  CHECK(node::session_certificate(older, der, now) == nullptr);
  auto again = reclaimed(s, now + seconds{60});
  CHECK(node::session_certificate(again, der, now + seconds{60}) == nullptr);
  CHECK(node::session_certificate(again, bytes{9, 9, 9}, now + seconds{60}) !=
        nullptr);
  // A cordoned node goes on: its operator wants to reach it.
  auto cordoned = after(s, node::cordon{now, ""});
  CHECK(node::session_certificate(cordoned, der, now) != nullptr);
}

TEST_CASE("node sessions: begin, take over and end") {
  auto s = joined();
  CHECK(node::live_session(s) == nullptr);
  auto first = decided(s, session(1, now));
  REQUIRE(first.size() == 1);
  auto begun = all_of<node::connected>(first).at(0);
  CHECK(begun == node::connected{s.node->id, "sess_1", "gw_1", "198.51.100.1",
                                 "0.1.0", "aa", "", now});
  s = fold(first, s);
  REQUIRE(node::live_session(s) != nullptr);
  CHECK(node::live_session(s)->session == "sess_1");
  // The same once more changes nothing.
  CHECK(decided(s, session(1, now + seconds{1})).empty());

  // The newest wins, and says whom it took over from.
  auto second = decided(s, session(2, now + seconds{1}));
  REQUIRE(second.size() == 1);
  CHECK(all_of<node::connected>(second).at(0).supersedes == "sess_1");
  s = fold(second, s);
  CHECK(node::live_session(s)->session == "sess_2");
  // The end of the older one is no end of the node's.
  CHECK(decided(s, end_of(1, now, node::session_end::superseded)).empty());
  CHECK(decided(s, end_of(7, now)).empty());

  auto ended = decided(s, end_of(2, now, node::session_end::lost));
  REQUIRE(ended.size() == 1);
  CHECK(all_of<node::disconnected>(ended).at(0) ==
        node::disconnected{s.node->id, "sess_2", node::session_end::lost, now});
  s = fold(ended, s);
  CHECK(node::live_session(s) == nullptr);
  CHECK(decided(s, end_of(2, now)).empty());
  // A session after one that ended takes over from none.
  CHECK(all_of<node::connected>(decided(s, session(3, now)))
            .at(0)
            .supersedes.empty());
  // One that was given up may come back under its name.
  CHECK(decided(s, session(2, now)).size() == 1);
}

TEST_CASE("node sessions: of no node, and of one that is over (case 67)") {
  auto missing = [](const auto& r) {
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::not_found);
  };
  missing(node::decide({}, session(1, now)));
  missing(node::decide({}, end_of(1, now)));
  missing(node::decide({}, node::acceptance_result{now, {}}));
  missing(node::decide({}, node::warn_of_expiry{now}));

  auto s = after(joined(true), session(1, now));
  s = after(after(s, node::cordon{now, ""}), node::retire{now, ""});
  CHECK(s.current == node::status::retired);
  // Its end is the session's end.
  CHECK(node::live_session(s) == nullptr);
  REQUIRE(s.session_over);
  CHECK(s.session_over->reason == node::session_end::cut);
  auto again = node::decide(s, session(2, now));
  REQUIRE_FALSE(again);
  CHECK(again.error().code == errc::invalid_state);
  auto result = node::decide(s, node::acceptance_result{now, {}});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::invalid_state);
  CHECK(decided(s, end_of(1, now)).empty());
  CHECK(decided(s, node::warn_of_expiry{now + seconds{86'000}}).empty());
}

TEST_CASE(
    "node sessions: two machines that take turns are told of once in the "
    "window (cases 63, 68)") {
  auto s = joined();
  std::vector<node::clone_suspected> told;
  // The first session takes over from none; the next from another address.
  auto run = [&](int from, int to, seconds pause) {
    for (int i = from; i <= to; ++i) {
      auto when = now + i * pause;
      auto events = decided(s, session(i, when));
      for (auto& t : all_of<node::clone_suspected>(events))
        told.push_back(std::move(t));
      s = fold(events, s);
    }
  };
  const auto enough = static_cast<int>(node::takeovers_in_window);
  run(0, enough - 1, seconds{10});
  CHECK(told.empty());
  run(enough, enough, seconds{10});
  REQUIRE(told.size() == 1);
  CHECK(told[0].sign == node::clone_sign::sessions);
  CHECK(told[0].hardware_key == s.node->hardware_key);
  CHECK(s.clone_suspected_at == told[0].at);
  run(enough + 1, 59, seconds{10});
  CHECK(told.size() == 1);
  // They never stop: once more in each window.
  run(60, 190, seconds{10});
  CHECK(told.size() == 4);
}

TEST_CASE("node sessions: what is no sign of a clone (case 68)") {
  enum class what { closed_between, same_place, slowly, revoked_between };
  auto row = GENERATE(what::closed_between, what::same_place, what::slowly,
                      what::revoked_between);
  CAPTURE(static_cast<int>(row));
  auto s = joined();
  for (int i = 0; i < 60; ++i) {
    auto when = now + i * seconds{row == what::slowly ? 121 : 10};
    auto c = session(i, when);
    if (row == what::same_place)
      c.address = "198.51.100.7";
    auto events = decided(s, c);
    CHECK(all_of<node::clone_suspected>(events).empty());
    s = fold(events, s);
    if (row == what::closed_between)
      s = after(s, end_of(i, when));
    if (row == what::revoked_between && i % 3 == 2) {
      // The operator looked, and the right machine joined again.
      s = after(s, node::revoke_identity{when, ""});
      s = reclaimed(s, when);
    }
  }
  CHECK(s.takeovers.size() < node::takeovers_in_window);
}

TEST_CASE("node sessions: another certificate is another machine too") {
  auto s = after(joined(), session(0, now));
  for (int i = 1; i <= 12; ++i) {
    auto c = session(i, now + seconds{i});
    c.address = "198.51.100.0";
    c.serial = i % 2 == 0 ? "aa" : "bb";
    s = after(s, c);
  }
  CHECK(s.takeovers.size() == node::takeovers_in_window);
  CHECK(s.clone_suspected_at == now + seconds{6});
}

TEST_CASE("node acceptance: starts at the first session, passes or fails") {
  auto s = joined(true);
  // Nothing of a run that did not start.
  CHECK(decided(s, node::acceptance_result{now, {}}).empty());
  auto events = decided(s, session(1, now));
  REQUIRE(events.size() == 2);
  CHECK(std::get<node::acceptance_started>(events[1]) ==
        node::acceptance_started{s.node->id, now});
  s = fold(events, s);
  CHECK(s.current == node::status::adopting);
  CHECK(decided(s, session(2, now)).size() == 1);  // not once more

  const std::vector<std::string> bad{"burn-in", "link-speed"};
  auto failed = decided(s, node::acceptance_result{now, bad});
  REQUIRE(failed.size() == 1);
  CHECK(std::get<node::acceptance_failed>(failed[0]) ==
        node::acceptance_failed{s.node->id, bad, now});
  s = fold(failed, s);
  CHECK(s.current == node::status::adopting);
  CHECK(decided(s, node::acceptance_result{now, bad}).empty());
  CHECK(decided(s, node::acceptance_result{now, {"burn-in"}}).size() == 1);

  SECTION("a later run passes") {
    auto passed = decided(s, node::acceptance_result{now, {}});
    REQUIRE(passed.size() == 1);
    CHECK(std::holds_alternative<node::adopted>(passed[0]));
    s = fold(passed, s);
  }
  SECTION("an operator adopts it") {
    s = after(s, node::adopt{now});
  }
  CHECK(s.current == node::status::adopted);
  CHECK_FALSE(s.failed_acceptance);
  // What comes late changes nothing.
  CHECK(decided(s, node::acceptance_result{now, bad}).empty());
  // A cordon is an operator's word.
  s = after(s, node::cordon{now, ""});
  CHECK(decided(s, node::acceptance_result{now, {}}).empty());
}

TEST_CASE("node acceptance: runs again after a reclaim (case 63)") {
  auto s = after(joined(true), session(1, now));
  s = after(s, node::acceptance_result{now, {"burn-in"}});
  s = reclaimed(s, now + seconds{60});
  CHECK_FALSE(s.acceptance_started_at);
  CHECK_FALSE(s.failed_acceptance);
  CHECK(all_of<node::acceptance_started>(
            decided(s, session(2, now + seconds{61})))
            .size() == 1);
}

TEST_CASE("node acceptance: never where the pool has no checks") {
  auto events = decided(joined(false), session(1, now));
  CHECK(all_of<node::acceptance_started>(events).empty());
}

TEST_CASE("node expiry: from a quarter of the lifetime on, at most 4 hours") {
  struct row {
    seconds lifetime, left;
  };
  auto r =
      GENERATE(row{seconds{86'400}, seconds{4 * 3600}},
               row{seconds{16 * 3600}, seconds{4 * 3600}},
               row{seconds{3600}, seconds{900}}, row{seconds{60}, seconds{15}});
  node::certificate c;
  c.not_before = now;
  c.not_after = now + r.lifetime;
  CHECK(c.not_after - node::warn_from(c) == r.left);
}

TEST_CASE("node expiry: each certificate is told of once, and not too early") {
  auto s = joined();
  const auto cert = s.certificates[0].cert;
  const auto due = node::warn_from(cert);
  CHECK(decided(s, node::warn_of_expiry{due - milliseconds{1}}).empty());
  auto told = decided(s, node::warn_of_expiry{due});
  REQUIRE(told.size() == 1);
  CHECK(std::get<node::certificate_expiring>(told[0]) ==
        node::certificate_expiring{s.node->id, cert.serial, cert.generation,
                                   cert.not_after, false, due});
  auto connected = after(s, session(1, now));
  CHECK(std::get<node::certificate_expiring>(
            decided(connected, node::warn_of_expiry{due})[0])
            .connected);
  s = fold(told, s);
  CHECK(decided(s, node::warn_of_expiry{due}).empty());
  CHECK(decided(s, node::warn_of_expiry{cert.not_after}).empty());
  // The next certificate is another matter.
  s = reclaimed(s, due);
  CHECK(decided(s, node::warn_of_expiry{due}).empty());
  CHECK(decided(s, node::warn_of_expiry{due + seconds{80'000}}).size() == 1);
  // Of one that is revoked there is nothing to renew.
  s = after(s, node::revoke_identity{due, ""});
  CHECK(decided(s, node::warn_of_expiry{due + seconds{80'000}}).empty());
}

TEST_CASE("node sessions: all events come back as they were") {
  sampler random{33};
  for (int i = 0; i < 200; ++i) {
    auto id = random.id<node_id>();
    node::connected c{id,
                      random.text(),
                      random.text(),
                      random.text(),
                      random.text(),
                      random.hex(16),
                      random.coin() ? random.text() : "",
                      random.time()};
    CHECK(through(c) == c);
    node::disconnected d{id, random.text(),
                         static_cast<node::session_end>(random.below(6)),
                         random.time()};
    CHECK(through(d) == d);
    node::acceptance_started a{id, random.time()};
    CHECK(through(a) == a);
    node::acceptance_failed f{id, {}, random.time()};
    for (auto n = random.below(4); n > 0; --n)
      f.checks.push_back(random.text());
    CHECK(through(f) == f);
    node::certificate_expiring e{id,
                                 random.hex(16),
                                 static_cast<std::int64_t>(1 + random.below(9)),
                                 random.time(),
                                 random.coin(),
                                 random.time()};
    CHECK(through(e) == e);
    node::clone_suspected s{id, random.id<tenant_id>(),
                            random.coin() ? random.hex() : "", random.time(),
                            static_cast<node::clone_sign>(random.below(2))};
    CHECK(through(s) == s);
  }
}

TEST_CASE("node sessions: the ends of a session are a closed list") {
  for (auto e : {node::session_end::closed, node::session_end::lost,
                 node::session_end::cut, node::session_end::superseded,
                 node::session_end::stopping, node::session_end::gateway_lost})
    CHECK(node::parse_session_end(node::session_end_text(e)) == e);
  CHECK_FALSE(node::parse_session_end("bored"));
  CHECK_FALSE(node::parse_session_end(""));
}
