// Tokens that the control plane makes for its own (spec: joining#token-roles):
// single use, bound, and passed on as a reference alone.
#include "actors/token_issuer.hpp"

#include "actors/group_commit.hpp"
#include "events/event_names.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/watched_journal.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;
using actors::issued_token;

namespace {

class memory_secrets : public actors::secret_sink {
 public:
  result<std::string> put(std::string_view name,
                          const secret_bytes& secret) override {
    if (broken)
      return fail(errc::unavailable, "The vault is away");
    auto reference = "secret://test/" + std::string{name};
    kept[reference] = std::string{secret.expose_text()};
    return reference;
  }
  void drop(const std::string& reference) noexcept override {
    kept.erase(reference);
  }
  std::map<std::string, std::string> kept;
  bool broken = false;
};

/// A ledger whose appends fail, or find that the ground moved.
class moving_ledger : public actors::sync_ledger {
 public:
  using actors::sync_ledger::sync_ledger;
  int moves = 0;
  bool broken = false;
  std::function<void()> before_append = nullptr;

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (broken)
      return done(fail(errc::unavailable, "The store is away"));
    if (moves-- > 0)
      return done(events::append_outcome{events::rejected{
          events::unmet::version, b.writes.front().stream, {}, {}, now()}});
    if (before_append)
      std::exchange(before_append, nullptr)();
    sync_ledger::append(std::move(b), std::move(done));
  }
};

struct issuer_world : api_world {
  issuer_world() { use(streams_of_test); }

  actors::token_order order() {
    return {acme, pool, seconds{600}, "metal", "req-deploy"};
  }
  result<issued_token> provisioned(actors::token_order o,
                                   std::optional<node_id> node = {}) {
    return wait([&](auto done) {
      issuer().issue_provisioned(std::move(o), std::move(node), done);
    });
  }
  result<issued_token> discovery(actors::token_order o,
                                 const std::string& mac) {
    return wait(
        [&](auto done) { issuer().issue_discovery(std::move(o), mac, done); });
  }
  events::join_token::state token(const join_token_id& id) {
    events::join_token::state found;
    streams->token(id, [&](auto state) { found = *state.value(); });
    return found;
  }
  /// All the journal holds of it.
  std::string journal_text() {
    std::string out;
    const auto all = store->read_all(0, 100'000);
    for (const auto& e : all.value())
      out += e.data + e.internal;
    return out;
  }

  std::shared_ptr<memory_secrets> secrets = std::make_shared<memory_secrets>();
  std::shared_ptr<moving_ledger> streams_of_test =
      std::make_shared<moving_ledger>(*store, time, reader.get());

 private:
  actors::token_issuer issuer() { return {streams, secrets}; }

  template <class Ask>
  result<issued_token> wait(Ask ask) {
    std::optional<result<issued_token>> got;
    ask([&](result<issued_token> r) {
      REQUIRE(!got);
      got = std::move(r);
    });
    REQUIRE(got);
    return *got;
  }
};

const std::string mac = "3C-EC-EF-12-34-56";

}  // namespace

TEST_CASE("token issuer: a provisioned token admits one node, once") {
  issuer_world w;
  auto node = w.random.id<node_id>();
  auto got = w.provisioned(w.order(), node);
  REQUIRE(got);
  const auto& t = got.value();
  CHECK(t.expires_at == w.time.now() + seconds{600});
  REQUIRE(w.secrets->kept.size() == 1);
  auto bearer = events::join_token::parse_bearer(w.secrets->kept[t.reference]);
  REQUIRE(bearer);
  CHECK(bearer->id == t.id);

  auto s = w.token(t.id);
  REQUIRE(s.token);
  CHECK(s.token->token_role == events::join_token::role::provisioned);
  CHECK(s.token->tenant == w.acme);
  CHECK(s.token->pool == w.pool);
  CHECK(s.token->site == w.site);
  CHECK(s.token->node == node);
  CHECK(s.uses_left == 1);
  CHECK_FALSE(
      check_secret(s, events::join_token::secret_digest(bearer->secret)));
  CHECK_FALSE(check_usable(s, pki::certificate_role::node, w.time.now()));
  auto event = w.store->read_all(w.position() - 1, 1).value().front();
  CHECK(event.actor == "metal");
  CHECK(event.correlation == "req-deploy");
  CHECK(event.tenant == w.acme.str());
  CHECK(w.provisioned(w.order()).value().id != t.id);
}

TEST_CASE("token issuer: a discovery token is one MAC's") {
  issuer_world w;
  auto got = w.discovery(w.order(), mac);
  REQUIRE(got);
  auto s = w.token(got.value().id);
  REQUIRE(s.token);
  CHECK(s.token->token_role == events::join_token::role::discovery);
  CHECK(s.token->expect.mac == "3c:ec:ef:12:34:56");
  CHECK(s.token->max_uses == 1);
  CHECK_FALSE(check_usable(s, pki::certificate_role::ramdisk, w.time.now()));
  CHECK(check_usable(s, pki::certificate_role::node, w.time.now()));
  // No MAC, a multicast one, and one a machine makes up.
  for (const auto* bad : {"", "eno1", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00",
                          "02:00:00:00:00:01", "3c:ec:ef:12:34"}) {
    INFO(bad);
    auto before = w.position();
    auto refused = w.discovery(w.order(), bad);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_input);
    CHECK(refused.error().path == "/mac");
    CHECK(w.position() == before);
  }
  CHECK(w.secrets->kept.size() == 1);
}

TEST_CASE("token issuer: the secret is in the sink and nowhere else") {
  issuer_world w;
  auto got = w.discovery(w.order(), mac);
  REQUIRE(got);
  auto bearer =
      events::join_token::parse_bearer(w.secrets->kept[got.value().reference]);
  REQUIRE(bearer);
  const std::string secret{bearer->secret.expose_text()};
  CHECK(secret.size() == 43);
  auto text = w.journal_text();
  CHECK(text.find(secret) == std::string::npos);
  CHECK(text.find(got.value().reference) == std::string::npos);
  CHECK(got.value().reference.find(secret) == std::string::npos);
  // Its owner sees the token, as it sees any other.
  auto listed = w.call(w.acme_key, "joinTokens.list",
                       {{"tenantId", json_string(w.acme.str())},
                        {"poolId", json_string(w.pool.str())}});
  CHECK(listed.at("/items/0/role") == "discovery");
  CHECK(listed.text.find(secret) == std::string::npos);
}

TEST_CASE("token issuer: nothing is made where nothing may join") {
  issuer_world w;
  auto metal = w.add_pool_without_daemon();
  auto archived = w.add_pool(w.acme, w.site);
  w.change_pool(archived, w.acme, events::pool::archive{w.time.now()});
  auto gone = w.add_site(w.acme);
  auto stranded = w.add_pool(w.acme, gone);
  w.change_site(gone, w.acme, events::site::remove{w.time.now()});
  struct row {
    pool_id pool;
    seconds lifetime;
    errc code;
  };
  for (const auto& r :
       {row{w.other_pool, seconds{600}, errc::not_found},
        row{w.random.id<pool_id>(), seconds{600}, errc::not_found},
        row{metal, seconds{600}, errc::invalid_state},
        row{archived, seconds{600}, errc::invalid_state},
        row{stranded, seconds{600}, errc::invalid_state},
        row{w.pool, seconds{59}, errc::invalid_input},
        row{w.pool, seconds{86'401}, errc::invalid_input}}) {
    auto o = w.order();
    o.pool = r.pool;
    o.lifetime = r.lifetime;
    auto before = w.position();
    auto got = w.provisioned(o);
    REQUIRE(!got);
    CHECK(got.error().code == r.code);
    CHECK(w.position() == before);
    CHECK(w.secrets->kept.empty());
  }
}

TEST_CASE("token issuer: a pool's policy names the attestor of the token") {
  issuer_world w;
  auto with = [&w](std::vector<std::string> attestors) {
    events::pool::created c{
        w.random.id<pool_id>(),   w.acme,      w.site, attestors.front(),
        events::pool::agent::bcd, w.time.now()};
    c.rules.join_attestors = std::move(attestors);
    w.append(
        {w.on(events::stream_of(c.id), w.acme, {events::pool::encode(c)})});
    auto o = w.order();
    o.pool = c.id;
    return o;
  };
  const auto tokens = with({"join-token", "tpm"});
  const auto vouches = with({"discovery"});
  const auto before = w.position();
  CHECK(w.discovery(tokens, mac).error().code == errc::invalid_state);
  CHECK(w.provisioned(vouches).error().code == errc::invalid_state);
  CHECK(w.position() == before);
  CHECK(w.secrets->kept.empty());
  CHECK(w.provisioned(tokens));
  CHECK(w.discovery(vouches, mac));
}

TEST_CASE("token issuer: a token that may be there all the same is named") {
  issuer_world w;
  test::watched_journal journal{*w.store};
  w.use(std::make_shared<actors::sync_ledger>(journal, w.time, w.reader.get()));
  journal.lose_answers = true;
  SECTION("it is looked up") {
    auto got = w.provisioned(w.order());
    REQUIRE(got);
    CHECK(w.token(got.value().id).token);
    CHECK(w.secrets->kept.size() == 1);
  }
  SECTION("nobody can say") {
    journal.lose_outcomes = true;
    auto got = w.provisioned(w.order());
    REQUIRE(!got);
    CHECK(got.error().code == errc::unavailable);
    REQUIRE(w.count(events::name::join_token_created) == 1);
    const auto made = w.store->read_all(w.position() - 1, 1).value().front();
    const auto id = made.stream.substr(made.stream.rfind(':') + 1);
    CHECK(got.error().message.find("may exist: revoke " + id) !=
          std::string::npos);
    CHECK(w.secrets->kept.empty());
    // As the writer of a server does.
    CHECK(journal.lookups == actors::commit_options{}.lookup_tries);
  }
}

TEST_CASE("token issuer: a token is for a node that may come by it") {
  namespace node = events::node;
  issuer_world w;
  auto make = [&w](auto change) {
    auto j = w.random.node_joined();
    j.tenant = w.acme;
    j.site = w.site;
    j.pool = w.pool;
    j.ek_hash.clear();
    j.cert.role = pki::certificate_role::node;
    change(j);
    REQUIRE(w.decide_on(j, node::join{j}));
    return j;
  };
  auto own = make([](auto&) {});
  auto ramdisk =
      make([](auto& j) { j.cert.role = pki::certificate_role::ramdisk; });
  auto pool_of_site = w.add_pool(w.acme, w.site);
  auto neighbour = make([&](auto& j) { j.pool = pool_of_site; });
  auto agent = make([](auto& j) {
    j.pool.reset();
    j.cert.role = pki::certificate_role::site;
  });
  auto bound = make([&w](auto& j) { j.ek_hash = w.random.hex(); });
  auto over = make([](auto&) {});
  REQUIRE(w.decide_on(over, node::cordon{w.time.now(), ""}));
  REQUIRE(w.decide_on(over, node::retire{w.time.now(), ""}));
  auto foreign = make([&w](auto& j) {
    j.tenant = w.other;
    j.site = w.other_site;
    j.pool = w.other_pool;
  });
  auto foreign_here = make([&w](auto& j) { j.tenant = w.other; });
  struct row {
    const char* what;
    const node::joined& node;
    errc code;
  };
  for (const auto& r : {row{"another pool's", neighbour, errc::invalid_state},
                        row{"a site agent", agent, errc::invalid_state},
                        row{"a TPM's own", bound, errc::invalid_state},
                        row{"retired", over, errc::invalid_state},
                        row{"another tenant's", foreign, errc::not_found},
                        row{"that, here", foreign_here, errc::not_found}}) {
    INFO(r.what);
    auto before = w.position();
    auto got = w.provisioned(w.order(), r.node.id);
    REQUIRE(!got);
    CHECK(got.error().code == r.code);
    CHECK(got.error().path == "/node");
    CHECK(w.position() == before);
    CHECK(w.secrets->kept.empty());
  }
  CHECK(w.provisioned(w.order(), own.id));
  CHECK(w.provisioned(w.order(), ramdisk.id));
  // What no node is yet the machine becomes.
  CHECK(w.provisioned(w.order(), w.random.id<node_id>()));
}

TEST_CASE("token issuer: the node is as it was looked at") {
  namespace node = events::node;
  issuer_world w;
  auto j = w.random.node_joined();
  j.tenant = w.other;
  j.site = w.other_site;
  j.pool = w.other_pool;
  w.streams_of_test->before_append = [&] {
    REQUIRE(w.decide_on(j, node::join{j}));
  };
  auto got = w.provisioned(w.order(), j.id);
  REQUIRE(!got);
  CHECK(got.error().code == errc::not_found);
  CHECK(w.count(events::name::join_token_created) == 0);
  CHECK(w.secrets->kept.empty());
}

TEST_CASE("token issuer: what fails leaves no secret and no token") {
  issuer_world w;
  auto before = w.position();
  SECTION("the sink is away") {
    w.secrets->broken = true;
    CHECK(w.provisioned(w.order()).error().code == errc::unavailable);
  }
  SECTION("the store is away") {
    w.streams_of_test->broken = true;
    CHECK(w.provisioned(w.order()).error().code == errc::unavailable);
  }
  SECTION("the ground keeps moving") {
    w.streams_of_test->moves = 3;
    CHECK(w.provisioned(w.order()).error().code == errc::unavailable);
  }
  CHECK(w.secrets->kept.empty());
  CHECK(w.position() == before);
}

TEST_CASE("token issuer: a pool archived meanwhile has no token") {
  issuer_world w;
  w.streams_of_test->before_append = [&] {
    w.change_pool(w.pool, w.acme, events::pool::archive{w.time.now()});
  };
  CHECK(w.provisioned(w.order()).error().code == errc::invalid_state);
  CHECK(w.secrets->kept.empty());
  CHECK(w.count(events::name::join_token_created) == 0);

  // What only moved is looked at again, with the same token.
  issuer_world moved;
  moved.streams_of_test->moves = 2;
  CHECK(moved.provisioned(moved.order()));
  CHECK(moved.secrets->kept.size() == 1);
  CHECK(moved.count(events::name::join_token_created) == 1);
}
