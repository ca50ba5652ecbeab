#include "tests/actors/join_world.hpp"

namespace bc::test {

std::shared_ptr<const pki::key_bundle> test_keys() {
  static const auto keys = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("compute.example.test", start_of_time).value());
  return keys;
}

pki::sha256_digest machine::csr_sha256() const {
  return pki::sha256(csr);
}

machine make_machine(int n) {
  auto digits = std::to_string(1'000'000 + n).substr(1);
  machine out;
  out.claims.product_uuid = "4f1c3a52-9b7d-4e60-8a21-d0c5b7" + digits;
  out.claims.product_serial = "SN-77" + digits + "K";
  out.claims.hostname = "rack-" + digits;
  return out;
}

std::string minted::text() const {
  return "bcjt_" + token.id.str() + "." + secret;
}

join_world::join_world(const open_journal& open)
    : journal(open ? open(time) : store.open()) {
  root = new_tenant("root", true);
  owner = new_tenant("acme", false);
  site = new_site();
  pool = new_pool(owner, site, events::pool::agent::bcd);
  disarm_all();
}

join_world::~join_world() {
  disarm_all();
}

tenant_id join_world::new_tenant(const std::string& name, bool is_root) {
  auto id = pki::mint<tenant_id>(time.now());
  append<events::tenant::event>(
      events::stream_of(id),
      events::tenant::created{id, name, is_root, time.now()}, id);
  return id;
}

site_id join_world::new_site() {
  return new_site(owner, events::site::kind::custom);
}

site_id join_world::new_site(const tenant_id& of, events::site::kind kind) {
  auto id = pki::mint<site_id>(time.now());
  append<events::site::event>(
      events::stream_of(id),
      events::site::created{id, of, id.str(), kind, time.now(), {}}, of);
  return id;
}

void join_world::delete_site(const site_id& id) {
  append<events::site::event>(
      events::stream_of(id),
      events::site::deleted{id, time.now(), owner, id.str()}, owner);
}

pool_id join_world::new_pool(const tenant_id& tenant, const site_id& where,
                             events::pool::agent agent,
                             const events::pool::policy& rules) {
  auto id = pki::mint<pool_id>(time.now());
  append<events::pool::event>(events::stream_of(id),
                              events::pool::created{id, tenant, where, id.str(),
                                                    agent, time.now(), rules},
                              tenant);
  return id;
}

void join_world::archive(const pool_id& id) {
  append<events::pool::event>(
      events::stream_of(id),
      events::pool::archived{id, time.now(), owner, id.str()}, owner);
}

minted join_world::mint_token(
    const std::function<void(events::join_token::created&)>& change) {
  minted out;
  out.secret = to_base64url(pki::random_bytes(32));
  auto& t = out.token;
  t.id = pki::mint<join_token_id>(time.now());
  t.tenant = owner;
  t.pool = pool;
  t.site = site;
  t.created_at = time.now();
  t.expires_at = time.now() + seconds{3600};
  t.secret_sha256 = to_hex(
      events::join_token::secret_digest(secret_bytes{as_bytes(out.secret)}));
  if (change)
    change(t);
  append<events::join_token::event>(events::stream_of(t.id), t, t.tenant);
  return out;
}

void join_world::revoke(const minted& m) {
  append<events::join_token::event>(
      events::stream_of(m.token.id),
      events::join_token::revoked{m.token.id, m.token.pool, time.now()},
      m.token.tenant);
}

void join_world::use_up(const minted& m) {
  for (std::int64_t i = 0; i < m.token.max_uses; ++i)
    append<events::join_token::event>(
        events::stream_of(m.token.id),
        events::join_token::redeemed{m.token.id, pki::mint<node_id>(time.now()),
                                     std::string(64, 'a')},
        m.token.tenant);
}

minted join_world::mint_reclaim_token() {
  return mint_token([](auto& t) { t.allow_reclaim = true; });
}

events::node::state join_world::node(const node_id& id) const {
  events::node::state out;
  ledger->node(id, [&](auto state) { out = *state.value(); });
  return out;
}

void join_world::retire(const node_id& id) {
  command(id, events::node::cordon{time.now(), ""});
  command(id, events::node::retire{time.now(), ""});
}

std::string join_world::seal(std::string_view token, const machine& m) const {
  return pki::seal_token(keys->join_encryption.pub(), token, m.csr_sha256(),
                         time.now());
}

wire::join_request join_world::request(const machine& m,
                                       std::string_view token) const {
  wire::join_request out;
  out.role = "node";
  out.site_id = site.str();
  out.csr = m.csr;
  out.hardware = m.claims;
  out.sealed_token = seal(token, m);
  return out;
}

std::shared_ptr<actors::join_environment> join_world::environment() {
  auto env = std::make_shared<actors::join_environment>();
  env->keys = keys;
  env->root_tenant = root;
  env->certificate_lifetime = lifetime;
  env->shared_uuids = shared_uuids;
  env->x509pop = x509pop;
  env->tpm = tpm;
  env->discovery = discovery;
  env->refused = [this](actors::refusal_report r) {
    reports.push_back(std::move(r));
  };
  return env;
}

tried join_world::send(const std::string& body) {
  reports.clear();
  int answers = 0;
  tried out;
  actors::run_join(environment(), ledger, {body, "req-1"},
                   [&](wire::join_answer answer) {
                     ++answers;
                     out.answer = std::move(answer);
                   });
  REQUIRE(answers == 1);
  out.reports = reports;
  return out;
}

tried join_world::join(const wire::join_request& r) {
  return send(wire::encode(r));
}

tried join_world::join(const machine& m, std::string_view token) {
  return join(request(m, token));
}

std::uint64_t join_world::head() const {
  return journal->head().value().position;
}

std::int64_t join_world::uses_left(const minted& m) const {
  std::int64_t left = 0;
  ledger->token(m.token.id,
                [&](auto state) { left = state.value()->uses_left; });
  return left;
}

std::vector<events::envelope> join_world::after(std::uint64_t position) const {
  return journal->read_all(position, 1000).value();
}

std::size_t join_world::count(std::string_view type) const {
  std::size_t n = 0;
  const auto all = journal->read_all(0, 100'000).value();
  for (const auto& e : all)
    n += e.type == type ? 1 : 0;
  return n;
}

std::string without_time(wire::join_answer answer) {
  REQUIRE(answer.time.has_value());
  answer.time = wire::server_time{0, bytes(64)};
  return wire::encode(answer);
}

node_id node_of(const wire::join_answer& answer) {
  auto body = wire::decode_joined_body(answer.body);
  REQUIRE(body.has_value());
  return node_id::parse(body.value().node_id).value();
}

void check_refused(join_world& w, const tried& t, std::uint64_t head,
                   events::refusal_reason reason, const tenant_id& owner) {
  CHECK(t.answer.what == wire::join_answer::kind::failed);
  CHECK(t.answer.code == errc::access_denied);
  CHECK(t.answer.message == "Join refused");
  CHECK(t.answer.path.empty());
  REQUIRE(t.reports.size() == 1);
  const auto& r = t.reports.front();
  CHECK(events::text_of(r.reason) == events::text_of(reason));
  CHECK(r.owner == owner);
  CHECK(r.correlation == "req-1");
  CHECK(r.csr_sha256.size() == 64);
  CHECK((r.hardware_key.empty() || r.hardware_key.size() == 64));
  CHECK(w.head() == head);
}

}  // namespace bc::test
