// nodes.revokeByToken: every node that joined with one token loses its
// identity, one by one.
#include "events/actor.hpp"
#include "events/streams.hpp"
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

using outcomes = std::vector<std::pair<std::string, std::string>>;

class token_world : public api_world {
 public:
  fields naming(const events::join_token::created& t) const {
    return {{"tenantId", json_string(acme.str())},
            {"tokenId", json_string(t.id.str())}};
  }
  reply revoke(const events::join_token::created& t, const fields& more = {}) {
    auto input = naming(t);
    for (const auto& [name, raw] : more)
      input[name] = raw;
    return call(acme_key, "nodes.revokeByToken", input);
  }
  std::vector<node::joined> join_many(const events::join_token::created& t,
                                      int count) {
    std::vector<node::joined> out;
    for (int i = 0; i < count; ++i)
      out.push_back(join(t));
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return a.id.str() < b.id.str();
    });
    return out;
  }
  std::size_t live_certificates(const node::joined& j) {
    std::size_t out = 0;
    for (const auto& i : node_state(j.id).certificates)
      out += is_live(i, time.now()) ? 1 : 0;
    return out;
  }

  events::join_token::created token = add_token(acme, pool, site, 50);
};

outcomes of(const reply& r) {
  outcomes out;
  for (std::size_t i = 0; i < r.items(); ++i) {
    const auto at = "/items/" + std::to_string(i);
    out.emplace_back(r.at(at + "/nodeId"), r.at(at + "/outcome"));
  }
  return out;
}

outcomes all_are(const std::vector<node::joined>& nodes, const char* outcome) {
  outcomes out;
  for (const auto& j : nodes)
    out.emplace_back(j.id.str(), outcome);
  return out;
}

/// A ledger in which something happens before the appends to one stream, each
/// time that it is not told to stop.
class disturbed : public actors::sync_ledger {
 public:
  using actors::sync_ledger::sync_ledger;
  std::function<bool(const events::batch&)> before;  // false: it fails

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (before && !before(b))
      return done(fail(errc::unavailable, "The journal cannot be written"));
    sync_ledger::append(std::move(b), std::move(done));
  }
};

}  // namespace

TEST_CASE("revoke by token: each node in an append of its own, and once") {
  token_world w;
  auto nodes = w.join_many(w.token, 5);
  auto another = w.join(w.add_token(w.acme, w.pool, w.site));
  auto before = w.position();
  auto seen = w.revoke(w.token, {{"dryRun", "true"}});
  INFO(seen.text);
  CHECK(of(seen) == all_are(nodes, "would-revoke"));
  CHECK(seen.at("/position") == std::to_string(before));
  CHECK(w.position() == before);
  CHECK(seen.at("/items/0/hostname") == nodes[0].claims.hostname);
  CHECK(seen.at("/items/0/poolId") == w.pool.str());

  auto got = w.revoke(w.token, {{"reason", "\"it leaked\""}});
  CHECK(of(got) == all_are(nodes, "revoked"));
  CHECK(got.at("/position") == std::to_string(w.position()));
  const auto events = w.store->read_all(before, 100).value();
  REQUIRE(events.size() == nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CHECK(events[i].type == "security.certificate-revoked");
    CHECK(events[i].stream == events::stream_of(nodes[i].id));
    CHECK(events[i].commit == events[0].commit + i);
    CHECK(events::parse_actor(events[i].actor).principal == "alice");
    auto e = node::decode(events[i]).value();
    CHECK(std::get<node::certificate_revoked>(e).note == "it leaked");
    CHECK(w.live_certificates(nodes[i]) == 0);
  }
  CHECK(w.live_certificates(another) == 1);

  before = w.position();
  CHECK(of(w.revoke(w.token)) == all_are(nodes, "unchanged"));
  CHECK(of(w.revoke(w.token, {{"dryRun", "true"}})) ==
        all_are(nodes, "unchanged"));
  CHECK(w.position() == before);
}

TEST_CASE("revoke by token: nodes that the token holds no more are left") {
  token_world w;
  auto nodes = w.join_many(w.token, 4);
  // Back by another token, over, and with two certificates.
  REQUIRE(w.reclaim(nodes[0]));
  REQUIRE(w.decide_on(nodes[1], node::cordon{w.time.now(), ""}));
  REQUIRE(w.decide_on(nodes[1], node::retire{w.time.now(), ""}));
  REQUIRE(w.renew(nodes[2]));
  w.open_session(nodes[3], "sess_1");
  auto got = w.revoke(w.token);
  INFO(got.text);
  CHECK(of(got) == outcomes{{nodes[2].id.str(), "revoked"},
                            {nodes[3].id.str(), "revoked"}});
  CHECK(got.at("/items/0/connected") == "false");
  CHECK(got.at("/items/1/connected") == "true");
  CHECK(w.live_certificates(nodes[0]) == 1);
  CHECK(w.live_certificates(nodes[2]) == 0);
}

TEST_CASE("revoke by token: page after page") {
  token_world w;
  auto nodes = w.join_many(w.token, 7);
  outcomes found;
  fields more{{"limit", "3"}};
  int pages = 0;
  for (;; ++pages) {
    auto got = w.revoke(w.token, more);
    REQUIRE(got.status == 200);
    for (auto& one : of(got))
      found.push_back(std::move(one));
    if (!got.has("/cursor"))
      break;
    more["cursor"] = json_string(got.at("/cursor"));
  }
  CHECK(pages == 2);
  CHECK(found == all_are(nodes, "revoked"));
}

TEST_CASE("revoke by token: what moved on meanwhile is decided anew") {
  token_world w;
  auto nodes = w.join_many(w.token, 3);
  auto streams = std::make_shared<disturbed>(*w.store, w.time, w.reader.get());
  int moved = 0;
  streams->before = [&](const events::batch& b) {
    // Once renewed, once brought back by another token, once each time.
    const auto& stream = b.writes.at(0).stream;
    if (stream == events::stream_of(nodes[0].id) && moved == 0) {
      ++moved;
      REQUIRE(w.renew(nodes[0]));
    } else if (stream == events::stream_of(nodes[1].id) && moved == 1) {
      ++moved;
      REQUIRE(w.reclaim(nodes[1]));
    } else if (stream == events::stream_of(nodes[2].id)) {
      REQUIRE(w.renew(nodes[2]));
    }
    return true;
  };
  w.use(streams);
  auto got = w.revoke(w.token);
  INFO(got.text);
  CHECK(of(got) == outcomes{{nodes[0].id.str(), "revoked"},
                            {nodes[2].id.str(), "failed"}});
  CHECK(got.at("/items/1/code") == "UNAVAILABLE");
  CHECK(w.live_certificates(nodes[0]) == 0);
  CHECK(w.live_certificates(nodes[1]) == 1);
}

TEST_CASE("revoke by token: a store that goes away half way") {
  token_world w;
  auto nodes = w.join_many(w.token, 4);
  auto streams = std::make_shared<disturbed>(*w.store, w.time, w.reader.get());
  int appends = 0;
  streams->before = [&](const events::batch&) { return ++appends <= 2; };
  w.use(streams);
  auto got = w.revoke(w.token);
  INFO(got.text);
  CHECK(got.status == 200);
  CHECK(of(got) == outcomes{{nodes[0].id.str(), "revoked"},
                            {nodes[1].id.str(), "revoked"},
                            {nodes[2].id.str(), "failed"},
                            {nodes[3].id.str(), "failed"}});
  // Nothing was done: that is the answer.
  CHECK(w.revoke(w.token).status == 503);
  streams->before = nullptr;
  CHECK(of(w.revoke(w.token)) == outcomes{{nodes[0].id.str(), "unchanged"},
                                          {nodes[1].id.str(), "unchanged"},
                                          {nodes[2].id.str(), "revoked"},
                                          {nodes[3].id.str(), "revoked"}});
}

TEST_CASE("revoke by token: another tenant's token is none") {
  token_world w;
  w.join(w.token);
  auto got = w.call(w.other_key, "nodes.revokeByToken",
                    {{"tenantId", json_string(w.other.str())},
                     {"tokenId", json_string(w.token.id.str())}});
  CHECK(got.status == 404);
  // One grant for one node does not open them all.
  auto one = w.add_credential(
      w.acme, "bob",
      {{"compute:nodes:revoke-identity", "compute-node/node_1"}});
  CHECK(w.call(one, "nodes.revokeByToken", w.naming(w.token)).status == 403);
}
