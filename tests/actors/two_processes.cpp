#include "tests/actors/two_processes.hpp"

#include <rapidjson/pointer.h>

namespace bc::test {

std::string at(const std::string& body, const char* pointer) {
  auto doc = json::parse(body);
  REQUIRE(doc.has_value());
  const auto* found = rapidjson::Pointer{pointer}.Get(doc.value());
  if (found == nullptr)
    return {};
  return found->IsString() ? found->GetString() : json::to_text(*found);
}

wire::join_answer answer_in(const daemon_reply& r) {
  auto answer = wire::decode_join_answer(r.status, r.body);
  REQUIRE(answer);
  return std::move(answer).value();
}

result<std::uint64_t> late_models::position() {
  ++asked;
  return reached.load();
}

process::process(events::journal& store) : journal(store) {
  journal.shared = true;
}

daemon_reply process::ask(actors::daemon_call call) {
  collected<daemon_reply> one;
  server->daemons().call(std::move(call), one.take());
  return one.wait_for(1).front();
}

daemon_reply process::join(const join_world& w, const machine& m,
                           const std::string& token) {
  return ask({wire::encode(w.request(m, token)), "req", {}});
}

api_reply process::call(const std::string& method, const std::string& key,
                        const std::string& body, const std::string& position) {
  collected<api_reply> one;
  auto dot = method.find('.');
  server->api().call({method.substr(0, dot), method.substr(dot + 1),
                      "Bearer " + key, body, "req", position},
                     one.take());
  return one.wait_for(1).front();
}

two_processes::two_processes(const open_journal& open)
    : w(open), second_(open(w.time)) {}

void two_processes::start(milliseconds tail) {
  for (auto* p : {&a, &b}) {
    actors::runtime_options o;
    o.journal = &p->journal;
    o.queries = &p->models;
    o.time = &w.time;
    o.keys = w.keys;
    o.root_tenant = w.root;
    o.x509pop = w.x509pop;
    o.tpm = w.tpm;
    o.discovery = w.discovery;
    o.tail_every = tail;
    if (before_start)
      before_start(*p, o);
    p->server = actors::runtime::start(std::move(o)).value();
  }
}

void two_processes::stop() {
  a.server->stop(seconds{30});
  b.server->stop(seconds{30});
}

std::string two_processes::credential() {
  auto secret = to_base64url(pki::random_bytes(32));
  events::credential::created c{pki::mint<credential_id>(w.time.now()),
                                w.owner,
                                "alice",
                                {{"*", "*"}},
                                w.time.now(),
                                to_hex(pki::sha256(as_bytes(secret)))};
  w.append<events::credential::event>(events::stream_of(c.id), c, w.owner);
  return c.id.str() + "." + secret;
}

std::string two_processes::create_input(const std::string& idempotency_key) {
  return "{\"tenantId\":\"" + w.owner.str() + "\",\"poolId\":\"" +
         w.pool.str() + "\",\"maxUses\":5,\"ttlSeconds\":3600," +
         "\"idempotencyKey\":\"" + idempotency_key + "\"}";
}

void two_processes::race_first_appends() {
  for (auto* p : {&a, &b})
    p->journal.before_append = [this, first = true]() mutable {
      if (std::exchange(first, false))
        meeting_.arrive_and_wait();
    };
}

std::pair<std::size_t, std::uint64_t> two_processes::refusals(
    const tenant_id& of, const char* reason) {
  auto stream = events::refusal_stream(of, "join-token", reason);
  auto all = w.journal->read_stream(stream, 0, 10'000).value();
  auto sum = w.journal->read_limiter(stream).value().dropped;
  for (const auto& e : all)
    sum += 1 + std::get<events::refusal::refused>(
                   events::refusal::decode(e).value())
                   .suppressed;
  return {all.size(), sum};
}

void two_processes::check_journal() {
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

minted many_uses(join_world& w, std::int64_t uses) {
  return w.mint_token(
      [uses](events::join_token::created& t) { t.max_uses = uses; });
}

}  // namespace bc::test
