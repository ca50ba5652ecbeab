#include "tests/projections/history.hpp"

#include "events/node_inventory.hpp"

namespace bc::testing {

events::stream_write history::on(events::stream_id stream,
                                 const tenant_id& tenant,
                                 std::vector<events::event_write> written) {
  return {std::move(stream), tenant.str(), std::nullopt, std::move(written)};
}

void history::append(std::vector<events::stream_write> writes) {
  events::batch b;
  b.id = random.id<batch_id>();
  b.actor = actor;
  b.correlation = correlation;
  b.writes = std::move(writes);
  auto outcomes = store->append({&b, 1});
  REQUIRE(outcomes);
  REQUIRE(outcomes.value().size() == 1);
  REQUIRE(std::holds_alternative<events::appended>(outcomes.value()[0]));
}

tenant_id history::add_tenant() {
  events::tenant::created c{random.id<tenant_id>(), random.hex(4), false,
                            time.now()};
  append({on(stream_of(c.id), c.id, {events::tenant::encode(c)})});
  return c.id;
}

site_id history::add_site(const tenant_id& owner, events::site::kind kind,
                          std::optional<tenant_id> dedicated_to) {
  events::site::created c{random.id<site_id>(), owner,
                          random.hex(4),        kind,
                          time.now(),           dedicated_to};
  append({on(stream_of(c.id), owner, {events::site::encode(c)})});
  return c.id;
}

pool_id history::add_pool(const tenant_id& tenant, const site_id& site) {
  events::pool::created c{
      random.id<pool_id>(),     tenant,    site, random.hex(4),
      events::pool::agent::bcd, time.now()};
  append({on(stream_of(c.id), tenant, {events::pool::encode(c)})});
  return c.id;
}

events::join_token::created history::add_token(const tenant_id& tenant,
                                               const pool_id& pool,
                                               const site_id& site,
                                               std::int64_t uses, seconds ttl) {
  auto c = random.token_created();
  c.tenant = tenant;
  c.pool = pool;
  c.site = site;
  c.max_uses = uses;
  c.created_at = time.now();
  c.expires_at = time.now() + ttl;
  append({on(stream_of(c.id), tenant, {events::join_token::encode(c)})});
  return c;
}

void history::revoke(const events::join_token::created& t) {
  events::join_token::revoked r{t.id, t.pool, time.now()};
  if (t.token_role == events::join_token::role::site)
    r.site = t.site;
  append({on(stream_of(t.id), t.tenant, {events::join_token::encode(r)})});
}

events::credential::created history::add_credential(const tenant_id& tenant) {
  events::credential::created c{
      random.id<credential_id>(), tenant,     "ops/" + random.hex(4),
      {{"compute:*", "*"}},       time.now(), random.hex()};
  append({on(stream_of(c.id), tenant, {events::credential::encode(c)})});
  return c;
}

void history::revoke(const events::credential::created& c) {
  events::credential::revoked r{c.id, c.principal, time.now()};
  append({on(stream_of(c.id), c.tenant, {events::credential::encode(r)})});
}

std::vector<std::string> history::some_macs() {
  if (random.coin())
    return {};
  return {"3c:ec:ef:00:00:0" + std::to_string(random.below(10))};
}

events::node::joined history::join(const events::join_token::created& t) {
  auto j = random.node_joined();
  j.tenant = t.tenant;
  j.pool = t.pool;
  j.site = t.site;
  j.token = t.id.str();
  j.reclaim = false;
  j.cert.generation = 1;
  j.at = time.now();
  j.cert.not_before = time.now() - seconds{300};
  j.cert.not_after = time.now() + seconds{86'100};
  j.claims.macs = some_macs();
  events::join_token::redeemed r{t.id, j.id, j.cert.csr_sha256};
  append({on(stream_of(t.id), t.tenant, {events::join_token::encode(r)}),
          on(stream_of(j.id), t.tenant, {events::node::encode(j)})});
  return j;
}

void history::adopt(const events::node::joined& j) {
  append({on(stream_of(j.id), j.tenant,
             {events::node::encode(events::node::adopted{j.id, time.now()})})});
}

events::node::state history::node_state(const node_id& id) {
  events::node::state s;
  auto all = store->read_stream(stream_of(id), 0, 1000);
  REQUIRE(all);
  for (const auto& e : all.value()) {
    auto decoded = events::node::decode(e);
    REQUIRE(decoded);
    s = evolve(std::move(s), decoded.value());
  }
  return s;
}

bool history::reclaim(const events::node::joined& j) {
  auto again = random.node_joined();
  again.id = j.id;
  again.tenant = j.tenant;
  again.site = j.site;
  again.pool = j.pool;
  again.hardware_key = j.hardware_key;
  again.hardware_key_trusted = j.hardware_key_trusted;
  again.acceptance = j.acceptance;
  again.at = time.now();
  again.cert.not_before = time.now() - seconds{300};
  again.cert.not_after = time.now() + seconds{86'100};
  again.claims.macs = some_macs();
  return decide_on(j, events::node::join{again});
}

bool history::renew(const events::node::joined& j) {
  auto next = random.node_renewed(j);
  next.at = time.now();
  next.cert.not_before = time.now() - seconds{300};
  next.cert.not_after = time.now() + seconds{86'100};
  return decide_on(j, events::node::renew{next});
}

bool history::rejoin(const events::node::joined& j,
                     const std::string& hostname) {
  auto again = random.node_joined();
  again.at = time.now();
  again.cert.role = j.cert.role;
  again.cert.not_before = time.now() - seconds{300};
  again.cert.not_after = time.now() + seconds{86'100};
  again.claims.hostname = hostname;
  return decide_on(j, events::node::rejoin{again});
}

events::command::enqueued history::enqueue(const events::node::joined& j,
                                           seconds lifetime) {
  events::command::enqueued c{random.id<command_id>(),
                              j.id,
                              j.tenant,
                              random.coin() ? "ping" : "inventory.collect",
                              "{\"a\":\"" + random.hex(4) + "\"}",
                              time.now(),
                              time.now() + lifetime};
  append({on(stream_of(c.id), c.tenant, {events::command::encode(c)})});
  return c;
}

void history::complete(const events::command::enqueued& c, bool succeeded) {
  append({on(stream_of(c.id), c.tenant,
             {events::command::encode(events::command::completed{
                 c.id, c.node, succeeded, random.hex(4), time.now()})})});
}

bool history::open_session(const events::node::joined& j,
                           const std::string& session,
                           const std::string& gateway) {
  last_session = session;
  return decide_on(
      j, events::node::connect{time.now(), session, gateway, "192.0.2.1",
                               "0.1.0", j.cert.serial});
}

void history::change(const events::node::joined& j) {
  switch (random.below(17)) {
    case 14:
      return void(decide_on(
          j, events::node::record_inventory{time.now(), random.hex(),
                                            random.coin(), random.coin()}));
    case 15:
      return void(enqueue(j, seconds{60}));
    case 16:
      return complete(enqueue(j, seconds{60}), random.coin());
    case 12:
    case 13:
      return void(renew(j));
    case 7:
    case 8:
      return void(open_session(j, "sess_" + random.hex(4)));
    case 9:
      return void(decide_on(
          j, events::node::disconnect{time.now(), last_session,
                                      events::node::session_end::lost}));
    case 10:
      return void(decide_on(
          j, events::node::acceptance_result{time.now(), {random.hex(2)}}));
    case 11:
      return void(decide_on(
          j, events::node::warn_of_expiry{j.cert.not_after - seconds{1}}));
    case 0:
      return void(decide_on(j, events::node::cordon{time.now(), "noisy"}));
    case 1:
      return void(decide_on(j, events::node::adopt{time.now()}));
    case 2:
      return void(decide_on(j, events::node::retire{time.now(), ""}));
    case 3:
      return void(decide_on(j, events::node::revoke_identity{time.now(), ""}));
    case 4:
      return void(decide_on(j, events::node::suspect_clone{time.now()}));
    case 5:
      return void(decide_on(j, events::node::tell_shared{{random.hex()},
                                                         random.id<node_id>(),
                                                         j.tenant,
                                                         false,
                                                         time.now()}));
    default:
      return void(reclaim(j));
  }
}

void history::change_directory(const tenant_id& owner, const site_id& site,
                               const pool_id& pool) {
  change_site(site, owner,
              events::site::update{random.hex(4), std::nullopt, time.now()});
  auto served = add_site(owner, events::site::kind::dedicated, add_tenant());
  change_site(served, owner,
              events::site::update{std::nullopt, add_tenant(), time.now()});
  if (random.coin())
    change_site(served, owner, events::site::remove{time.now()});
  events::pool::policy rules;
  rules.join_attestors = {"tpm"};
  rules.platform_operated = random.coin();
  change_pool(
      pool, owner,
      events::pool::update{random.hex(4), std::nullopt, rules, time.now()});
  change_pool(add_pool(owner, site), owner, events::pool::archive{time.now()});
}

events::join_request::opened history::open_request(
    const tenant_id& owner, const site_id& site,
    const std::optional<pool_id>& pool) {
  auto o = random.request_opened();
  o.tenant = owner;
  o.site = site;
  o.pool = pool;
  o.place.reset();
  if (random.coin())
    o.place = static_cast<std::int64_t>(random.below(1'000'000));
  o.at = time.now();
  o.expires_at = time.now() + seconds{600};
  append({on(stream_of(o.id), owner, {events::join_request::encode(o)})});
  return o;
}

events::node::joined history::join_as(const events::join_request::opened& o,
                                      const pool_id& pool) {
  auto j = random.node_joined();
  j.tenant = o.tenant;
  j.site = o.site;
  j.pool = pool;
  j.reclaim = false;
  j.cert.generation = 1;
  j.at = time.now();
  j.cert.not_before = time.now() - seconds{300};
  j.cert.not_after = time.now() + seconds{86'100};
  j.hardware_key = o.seen.hardware_key;
  j.hardware_key_trusted = o.seen.trusted;
  if (o.seen.tpm && random.coin())
    j.ek_hash = o.seen.tpm->ek_hash;
  j.claims.macs.clear();
  if (o.seen.vouch)
    j.claims.macs = {o.seen.vouch->mac};
  append({on(stream_of(j.id), j.tenant, {events::node::encode(j)})});
  return j;
}

void history::change(const events::join_request::opened& o,
                     const pool_id& pool) {
  namespace jr = events::join_request;
  const jr::decider who{pool, o.site, true};
  switch (random.below(7)) {
    case 5:
      return void(join_as(o, pool));
    case 6:
      return decide_on_request(o,
                               jr::supersede{random.id<node_id>(),
                                             {o.seen.csr_sha256, std::nullopt},
                                             time.now()});
    case 0: {
      auto again = o;
      again.seen = random.sighting();
      again.at = time.now();
      return decide_on_request(o, jr::defer{again, seconds{600}});
    }
    case 1:
      return decide_on_request(
          o, jr::reject{who, "alice", random.text(), time.now()});
    case 2:
      return decide_on_request(
          o, jr::consume{random.id<node_id>(), o.seen.csr_sha256, time.now()});
    default:
      return decide_on_request(o, jr::approve{who, "alice", "", std::nullopt,
                                              seconds{300}, time.now()});
  }
}

void history::random_history(int steps) {
  std::vector<events::join_token::created> open_tokens;
  std::vector<events::join_request::opened> requests;
  auto tenant = add_tenant();
  auto site = add_site(tenant);
  auto pool = add_pool(tenant, site);
  for (int i = 0; i < steps; ++i) {
    time.advance(seconds{static_cast<std::int64_t>(random.below(120))});
    actor = random.coin() ? "alice" : "machine";
    correlation = "req-" + random.hex(4);
    switch (random.below(12)) {
      case 10:
        requests.push_back(open_request(
            tenant, site, random.coin() ? std::optional{pool} : std::nullopt));
        break;
      case 11:
        if (!requests.empty()) {
          const auto& o = requests[random.below(requests.size())];
          change(o, o.pool.value_or(pool));
        }
        break;
      case 0:
        tenant = add_tenant();
        if (auto c = add_credential(tenant); random.coin())
          revoke(c);
        site =
            add_site(tenant, static_cast<events::site::kind>(random.below(3)));
        pool = add_pool(tenant, site);
        change_directory(tenant, site, pool);
        break;
      case 1:
      case 2:
      case 3:
        open_tokens.push_back(add_token(
            tenant, pool, site, static_cast<std::int64_t>(1 + random.below(3)),
            seconds{600}));
        break;
      case 4:
        if (!open_tokens.empty()) {
          revoke(open_tokens.back());
          open_tokens.pop_back();
        }
        break;
      default:
        if (!open_tokens.empty()) {
          auto j = join(open_tokens.back());
          if (--open_tokens.back().max_uses == 0)
            open_tokens.pop_back();
          if (random.coin())
            adopt(j);
          for (auto n = random.below(4); n > 0; --n)
            change(j);
        }
    }
  }
}

}  // namespace bc::testing
