#include "events/actor.hpp"
#include "events/journal_stream.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields own(const tenant_id& tenant) {
  return {{"tenantId", json_string(tenant.str())}};
}

std::vector<std::string> types_of(const reply& page) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < page.items(); ++i)
    out.push_back(page.at("/items/" + std::to_string(i) + "/type"));
  return out;
}

}  // namespace

TEST_CASE("api events: answers and events of a token's life are golden") {
  api_world w;
  std::string text;
  auto say = [&](const std::string& title, const reply& r) {
    text += title + " " + std::to_string(r.status) + "\n" + r.text + "\n\n";
  };
  auto start = w.call(w.acme_key, "events.list", own(w.acme)).at("/cursor");
  auto site =
      w.call(w.acme_key, "sites.create", with(own(w.acme), "name", "\"dc1\""));
  say("sites.create", site);
  auto pool = w.call(w.acme_key, "pools.create",
                     with(with(own(w.acme), "name", "\"gpu\""), "siteId",
                          json_string(site.at("/id"))));
  say("pools.create", pool);
  auto input = with(w.token_input("adopt-rack-b7-u12"), "poolId",
                    json_string(pool.at("/id")));
  input["expect"] = R"({"serial":"SN-7701","mac":"3c:ec:ef:12:34:56"})";
  auto made = w.call(w.acme_key, "joinTokens.create", input);
  say("joinTokens.create", made);
  say("joinTokens.create again",
      w.call(w.acme_key, "joinTokens.create", input));
  say("joinTokens.create with another expect",
      w.call(w.acme_key, "joinTokens.create",
             with(input, "expect", R"({"serial":"SN-7702"})")));
  say("joinTokens.create with a bad field",
      w.call(w.acme_key, "joinTokens.create", with(input, "ttlSeconds", "59")));
  w.time.advance(seconds{90});
  fields revoke{{"tenantId", json_string(w.acme.str())},
                {"poolId", json_string(pool.at("/id"))},
                {"tokenId", json_string(made.at("/id"))}};
  say("joinTokens.revoke", w.call(w.acme_key, "joinTokens.revoke", revoke));
  say("joinTokens.list",
      w.call(w.acme_key, "joinTokens.list",
             with(with(with(revoke, "tokenId", ""), "includeInactive", "true"),
                  "limit", "10")));
  say("credentials.create",
      w.call(w.acme_key, "credentials.create",
             {{"tenantId", json_string(w.acme.str())},
              {"principal", "\"ci\""},
              {"grants", R"([{"action":"compute:join-tokens:*",)"
                         R"("resource":"compute-pool/*"}])"}}));
  say("tenants.create", w.call(w.root_key, "tenants.create",
                               with(own(w.root), "name", "\"initech\"")));
  say("events.list", w.call(w.acme_key, "events.list",
                            with(own(w.acme), "cursor", json_string(start))));
  testing::check_golden("api/token_life.txt", without_chance(text));
}

TEST_CASE("api events: a tenant reads its own public events alone") {
  api_world w;
  w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto token = w.add_token(w.acme, w.pool, w.site);
  w.join(token);
  auto mine = types_of(w.call(w.acme_key, "events.list", own(w.acme)));
  CHECK(mine ==
        std::vector<std::string>{"tenant.created", "site.created",
                                 "pool.created", "security.credential.created",
                                 "security.join-token.created",
                                 "security.join-token.created", "node.joined"});
  auto theirs = types_of(w.call(w.other_key, "events.list", own(w.other)));
  CHECK(theirs == std::vector<std::string>{"tenant.created", "site.created",
                                           "pool.created",
                                           "security.credential.created"});
}

TEST_CASE("api events: the caller's principal and request stand in the event") {
  api_world w;
  w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto last = w.store->read_all(w.position() - 1, 1).value().front();
  CHECK(events::parse_actor(last.actor).principal == "alice");
  CHECK(last.correlation == "req-1");
  CHECK(last.tenant == w.acme.str());
}

TEST_CASE("api events: type and limit, and a cursor in each of its forms") {
  api_world w;
  for (int i = 0; i < 5; ++i)
    w.call(w.acme_key, "joinTokens.create",
           w.token_input("k" + std::to_string(i)));
  auto input =
      with(with(own(w.acme), "type", "\"security.join-token.created\""),
           "limit", "2");
  auto first = w.call(w.acme_key, "events.list", input);
  CHECK(first.items() == 2);
  std::vector<std::string> seconds_page;
  for (const auto& cursor : {first.at("/cursor"), first.at("/items/1/sequence"),
                             first.at("/items/1/id")}) {
    input["cursor"] = json_string(cursor);
    auto second = w.call(w.acme_key, "events.list", input);
    CHECK(second.items() == 2);
    CHECK(second.at("/items/0/id") != first.at("/items/1/id"));
    seconds_page.push_back(second.text);
  }
  CHECK(seconds_page[0] == seconds_page[1]);
  CHECK(seconds_page[1] == seconds_page[2]);
}

TEST_CASE("api events: what one request caused, in order, by its id") {
  api_world w;
  w.call(w.acme_key, "joinTokens.create", w.token_input("k-1"));
  w.join(w.add_token(w.acme, w.pool, w.site));  // of no request
  w.call(w.acme_key, "joinTokens.create", w.token_input("k-2"));
  auto input = with(own(w.acme), "correlation", "\"req-1\"");
  auto got = w.call(w.acme_key, "events.list", input);
  CHECK(types_of(got) ==
        std::vector<std::string>{"security.join-token.created",
                                 "security.join-token.created"});
  CHECK(got.at("/items/0/correlationid") == "req-1");
  CHECK(got.at("/items/0/sequence") < got.at("/items/1/sequence"));
  input["type"] = "\"node.joined\"";
  CHECK(w.call(w.acme_key, "events.list", input).items() == 0);
  // Another tenant finds nothing by it.
  auto theirs = with(own(w.other), "correlation", "\"req-1\"");
  CHECK(w.call(w.other_key, "events.list", theirs).items() == 0);
}

TEST_CASE("api events: from the head on, and for the caller's own tenant") {
  api_world w;
  auto now = w.call(w.acme_key, "events.list", {{"cursor", "\"head\""}});
  CHECK(now.status == 200);
  CHECK(now.items() == 0);
  auto added = w.add_pool_without_daemon();
  auto next = w.call(w.acme_key, "events.list",
                     {{"cursor", json_string(now.at("/cursor"))}});
  REQUIRE(next.items() == 1);
  CHECK(next.at("/items/0/data/poolId") == added.str());
  CHECK(w.call(w.acme_key, "events.list", own(w.other)).code() == "NOT_FOUND");
  auto weak = w.add_credential(w.acme, "weak",
                               {{"compute:events:read", "compute-tenant/x"}});
  CHECK(w.call(weak, "events.list", {}).code() == "ACCESS_DENIED");
}

TEST_CASE("api events: a cursor of another incarnation is refused") {
  api_world w;
  auto cursor = w.call(w.acme_key, "events.list", own(w.acme)).at("/cursor");
  cursor.replace(0, cursor.find('-'), "inc_" + std::string(26, '0'));
  auto got = w.call(w.acme_key, "events.list",
                    with(own(w.acme), "cursor", json_string(cursor)));
  CHECK(got.code() == "INVALID_INPUT");
  CHECK(got.path() == "/cursor");
}

TEST_CASE("api events: after a restore ids go on under another incarnation") {
  api_world w;
  auto before = w.position();
  auto old_id = w.incarnation();
  auto new_id = w.random.id<incarnation_id>();
  w.append({w.on(
      std::string{events::journal_stream}, w.root,
      {events::journal_log::encode(events::journal_log::incarnation_started{
          new_id, incarnation_id::parse(old_id).value(), w.time.now()})})});
  w.start_server();
  auto pool = w.add_pool_without_daemon();
  auto all = w.call(w.acme_key, "events.list", own(w.acme));
  REQUIRE(all.items() > 1);
  CHECK(all.at("/items/0/id").starts_with(old_id + "-"));
  auto last = "/items/" + std::to_string(all.items() - 1);
  CHECK(all.at(last + "/data/poolId") == pool.str());
  CHECK(all.at(last + "/id").starts_with(new_id.str() + "-"));
  auto from = [&](const std::string& cursor) {
    return w.call(w.acme_key, "events.list", {{"cursor", json_string(cursor)}});
  };
  // What both incarnations hold is gone on from; what was lost is not.
  CHECK(from(old_id + "-" + std::to_string(before)).items() == 1);
  auto lost = from(old_id + "-" + std::to_string(before + 1));
  CHECK(lost.code() == "INVALID_INPUT");
  CHECK(lost.path() == "/cursor");
}

namespace {

/// Runs something between a call's look at the head and its first events.
class racing_ledger : public actors::sync_ledger {
 public:
  racing_ledger(events::journal& journal, const bc::clock& time,
                std::function<void()> race)
      : sync_ledger(journal, time), race_(std::move(race)) {}

  void events_after(
      std::uint64_t position, std::size_t limit,
      actors::reply_to<std::vector<events::envelope>> done) override {
    if (auto race = std::exchange(race_, nullptr))
      race();
    sync_ledger::events_after(position, limit, std::move(done));
  }

 private:
  std::function<void()> race_;
};

}  // namespace

// An id is never used twice and never changes: a server that was not stopped
// for it must not give new events ids of the old incarnation.
TEST_CASE("api events: a server that missed a new incarnation gives no ids") {
  api_world w;
  auto before = w.position();
  auto old_id = w.store->head().value().incarnation;
  auto start = [&] {
    w.append({w.on(
        std::string{events::journal_stream}, w.root,
        {events::journal_log::encode(events::journal_log::incarnation_started{
            w.random.id<incarnation_id>(), old_id, w.time.now()})})});
  };
  auto input = with(own(w.acme), "cursor", json_string(std::to_string(before)));
  SECTION("before the call") {
    start();
    CHECK(w.call(w.acme_key, "events.list", input).code() == "UNAVAILABLE");
  }
  SECTION("between its look at the head and the events") {
    w.use(std::make_shared<racing_ledger>(*w.store, w.time, start));
    CHECK(w.call(w.acme_key, "events.list", input).code() == "UNAVAILABLE");
  }
}

TEST_CASE("api events: a follower's cursor moves on when nothing matches") {
  api_world w;
  auto head = w.incarnation() + "-" + std::to_string(w.position());
  auto input = with(own(w.acme), "type", "\"node.joined\"");
  auto none = w.call(w.acme_key, "events.list", input);
  CHECK(none.items() == 0);
  CHECK(none.at("/cursor") == head);
  input["cursor"] = json_string(head);
  CHECK(w.call(w.acme_key, "events.list", input).at("/cursor") == head);
  w.join(w.add_token(w.acme, w.pool, w.site));
  auto one = w.call(w.acme_key, "events.list", input);
  CHECK(one.items() == 1);
}

TEST_CASE("api events: one call looks at 5,000 rows at most") {
  api_world w;
  auto before = w.position();
  std::vector<events::event_write> many;
  for (int i = 0; i < 5'200; ++i)
    many.push_back(events::credential::encode(events::credential::created{
        credential_id{}, w.other, "p", {}, w.time.now(), "00"}));
  w.append({w.on("credential:" + w.random.id<credential_id>().str(), w.other,
                 std::move(many))});
  w.join(w.add_token(w.acme, w.pool, w.site));
  auto input = with(own(w.acme), "cursor", json_string(std::to_string(before)));
  auto first = w.call(w.acme_key, "events.list", input);
  CHECK(first.items() == 0);
  CHECK(first.at("/cursor") ==
        w.incarnation() + "-" + std::to_string(before + 5'000));
  input["cursor"] = json_string(first.at("/cursor"));
  CHECK(w.call(w.acme_key, "events.list", input).items() == 2);
}

TEST_CASE(
    "api events: no answer but create's holds a secret, no event either") {
  api_world w;
  auto made = w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto credential = w.call(w.acme_key, "credentials.create",
                           {{"tenantId", json_string(w.acme.str())},
                            {"principal", "\"ci\""},
                            {"grants", R"([{"action":"*","resource":"*"}])"}});
  std::vector<std::string> secrets;
  for (const auto& bearer :
       {made.at("/token"), credential.at("/credential"), w.acme_key}) {
    auto secret = bearer.substr(bearer.find('.') + 1);
    REQUIRE(secret.size() == 43);
    secrets.push_back(secret);
    secrets.push_back(to_hex(pki::sha256(as_bytes(secret))));
  }
  CHECK(made.text.find(secrets[0]) != std::string::npos);
  CHECK(made.text.find(secrets[1]) == std::string::npos);

  fields pool{{"tenantId", json_string(w.acme.str())},
              {"poolId", json_string(w.pool.str())}};
  auto token = with(pool, "tokenId", json_string(made.at("/id")));
  std::vector<std::string> texts{
      w.call(w.acme_key, "joinTokens.create", w.token_input()).text,
      w.call(w.acme_key, "joinTokens.create",
             with(w.token_input(), "allowReclaim", "true"))
          .text,
      w.call(w.acme_key, "joinTokens.list", pool).text,
      w.call(w.acme_key, "joinTokens.revoke", token).text,
      w.call(w.acme_key, "joinTokens.revoke", token).text,
      w.call(w.acme_key, "joinTokens.list",
             with(pool, "includeInactive", "true"))
          .text,
      w.call(w.acme_key, "events.list", own(w.acme)).text};
  const auto stored = w.store->read_all(0, 1'000);
  for (const auto& e : stored.value()) {
    texts.push_back(e.data);
    // What never leaves may hold the hash, and the secret not even there.
    for (std::size_t i = 0; i < secrets.size(); i += 2)
      CHECK(e.internal.find(secrets[i]) == std::string::npos);
  }
  for (const auto& text : texts)
    for (const auto& secret : secrets) {
      INFO(text);
      CHECK(text.find(secret) == std::string::npos);
    }
}
