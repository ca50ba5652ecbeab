#include "tests/actors/discovery_world.hpp"

#include "actors/boot_lease/lease_flow.hpp"
#include "actors/requests/places.hpp"
#include "base/wire_boot_lease.hpp"
#include "events/join_request.hpp"
#include "pki/claims_digest.hpp"

namespace bc::test {

namespace {

namespace request = events::join_request;

}  // namespace

places_ledger::places_ledger(events::journal& journal, const clock& time,
                             site_id site)
    : sync_ledger(journal, time), store_(journal), site_(std::move(site)) {}

void places_ledger::query(
    std::function<result<std::string>(projections::queries&)>,
    actors::reply_to<std::string> done) {
  std::vector<std::int64_t> taken;
  for (std::int64_t n = 0; n < 1000; ++n) {
    auto holder = store_.holder(request::place_claim(site_, n)).value();
    if (holder && (!holder->expires_at || now() < *holder->expires_at))
      taken.push_back(n);
  }
  done(actors::places_text(taken));
}

discovery_world::discovery_world() : a{{}, pki::private_key::generate(), {}} {
  ledger = std::make_shared<places_ledger>(*journal, time, site);
  discovery.emplace();
  a = new_agent(900);
  lease_to(a);
}

site_agent join_agent(join_world& w, int n, const std::optional<site_id>& at) {
  auto token = w.mint_token([&](events::join_token::created& t) {
    t.token_role = events::join_token::role::site;
    t.pool.reset();
    if (at)
      t.site = *at;
  });
  auto m = make_machine(n);
  auto r = w.request(m, token.text());
  r.role = "site";
  r.site_id = at.value_or(w.site).str();
  auto t = w.join(r);
  REQUIRE(joined(t));
  auto body = wire::decode_joined_body(t.answer.body).value();
  return {node_of(t.answer), std::move(m.key), body.certificate_chain.front()};
}

actors::daemon_call lease_call(const site_agent& agent, const site_id& of,
                               bool release) {
  return {
      wire::encode(wire::boot_lease_request{agent.id.str(), of.str(), release}),
      "req-1", std::string{as_text(agent.certificate)},
      actors::daemon_request::boot_lease};
}

site_agent discovery_world::new_agent(int n, const std::optional<site_id>& at) {
  return join_agent(*this, n, at);
}

void discovery_world::lease_to(const site_agent& agent,
                               const std::optional<site_id>& at) {
  actors::run_boot_lease(
      std::make_shared<actors::boot_lease_environment>(), ledger,
      lease_call(agent, at.value_or(site)),
      [](const actors::daemon_outcome& out) {
        INFO(out.reply.body);
        REQUIRE(wire::decode_boot_lease_body(out.reply.body).value().held);
      });
}

void discovery_world::release(const site_agent& agent) {
  actors::run_boot_lease(std::make_shared<actors::boot_lease_environment>(),
                         ledger, lease_call(agent, site, true),
                         [](const actors::daemon_outcome& out) {
                           REQUIRE(out.reply.status == 200);
                         });
}

events::boot_lease::state discovery_world::lease(
    const std::optional<site_id>& at) const {
  events::boot_lease::state out;
  ledger->boot_lease(at.value_or(site),
                     [&](auto state) { out = *state.value(); });
  return out;
}

std::string mac_of(int n) {
  auto digits = std::to_string(1'000'000 + n).substr(1);
  return "3c:ec:ef:" + digits.substr(0, 2) + ":" + digits.substr(2, 2) + ":" +
         digits.substr(4, 2);
}

machine ramdisk(int n) {
  auto out = make_machine(n);
  out.claims.macs = {mac_of(n)};
  return out;
}

wire::join_request ask(const machine& m, const site_id& site) {
  wire::join_request out;
  out.attestor = "discovery";
  out.role = "ramdisk";
  out.site_id = site.str();
  out.csr = m.csr;
  out.hardware = m.claims;
  out.discovery.emplace();
  return out;
}

std::string vouch_for(const wire::join_request& r, const std::string& mac,
                      const site_agent& by, std::int64_t epoch, time_point now,
                      const std::function<void(pki::vouch::claims&)>& change) {
  pki::vouch::claims says;
  says.site = site_id::parse(r.site_id).value();
  says.mac = mac;
  says.ip = "10.0.0.17";
  says.boot_lease_epoch = epoch;
  says.csr_sha256 = pki::sha256(r.csr);
  says.claims_sha256 = pki::claims_digest(r);
  says.issued_at = std::chrono::floor<seconds>(now);
  says.expires_at = says.issued_at + seconds{60};
  says.jti = pki::vouch::new_jti();
  if (change)
    change(says);
  auto out = pki::vouch::make(
      says, by.certificate,
      [&](const pki::sha256_digest& digest) -> result<pki::raw_signature> {
        return by.key.sign(digest);
      });
  REQUIRE(out);
  return out.value();
}

wire::join_request discovery_world::ask(const machine& m) const {
  return test::ask(m, site);
}

std::string discovery_world::vouch_for(
    const wire::join_request& r, const std::string& mac, const site_agent& by,
    const std::function<void(pki::vouch::claims&)>& change) const {
  const auto held = lease(site_id::parse(r.site_id).value());
  return test::vouch_for(r, mac, by, held.lease ? held.lease->epoch : 1,
                         time.now(), change);
}

wire::join_request discovery_world::vouched(
    const machine& m, int n, const site_agent* by,
    const std::function<void(pki::vouch::claims&)>& change) const {
  auto out = ask(m);
  out.discovery->vouch =
      vouch_for(out, mac_of(n), by != nullptr ? *by : a, change);
  return out;
}

std::string discovery_world::seal_for(const wire::join_request& r,
                                      std::string_view token) const {
  return pki::seal_token(keys->join_encryption.pub(), token,
                         {pki::sha256(r.csr), pki::claims_digest(r)},
                         time.now());
}

minted discovery_world::discovery_token(
    int n, const std::function<void(events::join_token::created&)>& change) {
  return mint_token([&](events::join_token::created& t) {
    t.token_role = events::join_token::role::discovery;
    t.expect.mac = mac_of(n);
    if (change)
      change(t);
  });
}

request::state discovery_world::request_of(const std::string& id) const {
  request::state out;
  ledger->request(join_request_id::parse(id).value(),
                  [&](auto state) { out = *state.value(); });
  return out;
}

void discovery_world::approve(const std::string& id, const pool_id& for_pool,
                              seconds valid_for) {
  const auto s = request_of(id);
  auto decided = decide(s, request::approve{{for_pool, s.request->site, true},
                                            "alice",
                                            "",
                                            std::nullopt,
                                            valid_for,
                                            time.now()});
  REQUIRE(decided);
  for (const auto& e : decided.value())
    append<request::event>(events::stream_of(s.request->id), e, owner);
}

void discovery_world::reject(const std::string& id, const pool_id& for_pool) {
  const auto s = request_of(id);
  auto decided = decide(
      s, request::reject{
             {for_pool, s.request->site, true}, "alice", "", time.now()});
  REQUIRE(decided);
  for (const auto& e : decided.value())
    append<request::event>(events::stream_of(s.request->id), e, owner);
}

std::string deferred_request(const tried& t) {
  REQUIRE(deferred(t));
  auto body = wire::decode_deferred_body(t.answer.body);
  REQUIRE(body);
  return body.value().request_id;
}

}  // namespace bc::test
