#pragma once

#include "events/node_sessions.hpp"
#include "tests/projections/query_cases.hpp"

// What metrics, the revocation list and the revocation by token are made of, on
// every store. As query_cases.hpp.
namespace bc::testing {

TEST_CASE("queries: nodes of a token are those whose newest join was with it") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto token = f.add_token(tenant, pool, site, 9);
  auto another = f.add_token(tenant, pool, site, 9);
  std::vector<ev::node::joined> nodes;
  for (int i = 0; i < 7; ++i)
    nodes.push_back(f.join(token));
  auto elsewhere = f.join(another);
  // It comes back by a token of its own.
  REQUIRE(f.reclaim(nodes[1]));
  REQUIRE(f.decide_on(nodes[2], ev::node::cordon{f.time.now(), ""}));
  REQUIRE(f.decide_on(nodes[3], ev::node::cordon{f.time.now(), ""}));
  REQUIRE(f.decide_on(nodes[3], ev::node::retire{f.time.now(), ""}));
  REQUIRE(f.renew(nodes[4]));
  REQUIRE(f.decide_on(nodes[5], ev::node::revoke_identity{f.time.now(), ""}));
  auto q = f.queries();
  auto of = [&](const tenant_id& who, const std::string& id, int limit) {
    return walk(limit, [&](std::string_view after, int n) {
      return q->list_nodes_of_token(who.str(), id, after, n);
    });
  };
  std::vector<std::string> want;
  for (std::size_t i : {0, 2, 4, 5, 6})
    want.push_back(nodes[i].id.str());
  std::sort(want.begin(), want.end());
  CHECK(of(tenant, token.id.str(), 2) == want);
  CHECK(of(tenant, token.id.str(), 200) == want);
  CHECK(of(tenant, another.id.str(), 200) == std::vector{elsewhere.id.str()});
  CHECK(of(f.add_tenant(), token.id.str(), 200).empty());
  CHECK(of(tenant, "", 200).empty());
}

TEST_CASE("queries: nodes by when their certificate in force ends") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  std::vector<ev::node::joined> nodes;
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(f.join(token));
    f.time.advance(seconds{60});
  }
  const auto first = nodes[0].cert.not_after, last = nodes[4].cert.not_after;
  auto q = f.queries();
  auto ending = [&](time_point after, time_point until) {
    return q->nodes_ending(after, until, last).value();
  };
  // One that still has its time to renew does not count.
  const auto due = ev::node::warn_from(nodes[0].cert);
  auto by = [&](time_point now) {
    return q->nodes_ending(first - seconds{1}, last, now).value();
  };
  CHECK(by(due - milliseconds{1}) == 0);
  CHECK(by(due) == 1);
  CHECK(by(ev::node::warn_from(nodes[4].cert)) == 5);
  CHECK(ending(first - seconds{1}, last) == 5);
  CHECK(ending(first, last) == 4);
  CHECK(ending(first - seconds{1}, last - seconds{1}) == 4);
  // One goes on with another certificate, one has none, one is over.
  f.time.advance(seconds{3600});
  REQUIRE(f.renew(nodes[1]));
  REQUIRE(f.decide_on(nodes[2], ev::node::revoke_identity{f.time.now(), ""}));
  REQUIRE(f.decide_on(nodes[3], ev::node::cordon{f.time.now(), ""}));
  REQUIRE(f.decide_on(nodes[3], ev::node::retire{f.time.now(), ""}));
  q = f.queries();
  CHECK(ending(first - seconds{1}, last) == 2);
  CHECK(ending(last, last + seconds{7200}) == 1);
  // One that was told of does.
  f.time.set(ev::node::warn_from(nodes[4].cert));
  REQUIRE(f.decide_on(nodes[4], ev::node::warn_of_expiry{f.time.now()}));
  q = f.queries();
  CHECK(ending(last - seconds{1}, last) == 1);
}

TEST_CASE("queries: how many sessions a gateway has") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  std::vector<ev::node::joined> nodes;
  for (std::size_t i = 0; i < 4; ++i) {
    nodes.push_back(f.join(token));
    f.open_session(nodes[i], "sess_" + std::to_string(i),
                   i < 3 ? "gw_b" : "gw_a");
  }
  f.decide_on(nodes[0], ev::node::disconnect{f.time.now(), "sess_0",
                                             ev::node::session_end::closed});
  auto q = f.queries();
  CHECK(q->sessions_at("gw_a").value() == 1);
  CHECK(q->sessions_at("gw_b").value() == 2);
  CHECK(q->sessions_at("gw_c").value() == 0);
}

TEST_CASE("queries: how many commands wait, until their time is up") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto one = f.join(token), two = f.join(token);
  const auto begin = f.time.now();
  f.enqueue(one, seconds{60});
  auto done = f.enqueue(one, seconds{600});
  f.enqueue(two, seconds{600});
  auto q = f.queries();
  CHECK(q->commands_waiting(begin).value() == 3);
  CHECK(q->commands_waiting(begin + seconds{60}).value() == 2);
  f.complete(done, true);
  q = f.queries();
  CHECK(q->commands_waiting(begin).value() == 2);
  CHECK(q->commands_waiting(begin + seconds{600}).value() == 0);
}

TEST_CASE("queries: revoked certificates, until they end") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  std::vector<ev::node::joined> nodes;
  for (int i = 0; i < 4; ++i)
    nodes.push_back(f.join(token));
  auto q = f.queries();
  CHECK_FALSE(q->last_revocation().value());
  REQUIRE(f.reclaim(nodes[0]));
  f.time.advance(seconds{60});
  REQUIRE(f.decide_on(nodes[1], ev::node::revoke_identity{f.time.now(), ""}));
  q = f.queries();
  const auto before = q->last_revocation().value();
  REQUIRE(before);
  CHECK(before->at == f.time.now());
  f.time.advance(seconds{60});
  REQUIRE(f.decide_on(nodes[2], ev::node::cordon{f.time.now(), ""}));
  REQUIRE(f.decide_on(nodes[2], ev::node::retire{f.time.now(), ""}));
  q = f.queries();
  const auto last = q->last_revocation().value();
  REQUIRE(last);
  CHECK(last->position > before->position);
  auto listed = [&](time_point ends_after, std::uint64_t position) {
    std::vector<std::pair<std::string, std::string>> out;
    const auto rows = q->revoked_certificates(ends_after, position).value();
    for (const auto& row : rows)
      out.emplace_back(row.serial, row.why);
    std::sort(out.begin(), out.end());
    return out;
  };
  std::vector<std::pair<std::string, std::string>> want{
      {nodes[0].cert.serial, "reclaimed"}, {nodes[1].cert.serial, "revoked"}};
  std::sort(want.begin(), want.end());
  const auto end = nodes[0].cert.not_after;
  CHECK(listed(end - seconds{1}, before->position) == want);
  want.emplace_back(nodes[2].cert.serial, "deleted");
  std::sort(want.begin(), want.end());
  CHECK(listed(end - seconds{1}, last->position) == want);
  CHECK(listed(end, last->position).empty());
}

}  // namespace bc::testing
