#include "bench/row_lock.hpp"

#include "actors/joining/admission_batch.hpp"
#include "actors/joining/answers.hpp"
#include "base/encoding.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace bc::bench {

namespace {

constexpr const char* tables = R"(
drop schema if exists row_lock cascade;
create schema row_lock;
set search_path = row_lock;
create table tokens (id text primary key, secret_sha256 text not null,
  uses_left bigint not null, expires_ms bigint not null, revoked boolean
  not null default false);
create table events (position bigint generated always as identity primary key,
  stream text not null, type text not null, tenant text not null,
  time_ms bigint not null, actor text not null, correlation text not null,
  data text not null, internal text not null);
create table nodes (id text primary key, tenant text not null, site text not
  null, pool text not null, hardware_key text unique, generation bigint not
  null, joined_ms bigint not null, adopted_ms bigint not null);
create table node_certs (serial text primary key, node text not null,
  spki_sha256 text unique, not_before bigint not null, not_after bigint not
  null, der text not null);
create table answers (claim text primary key, body text not null,
  expires_ms bigint not null);
)";

[[noreturn]] void give_up(PGconn* c) {
  std::fprintf(stderr, "row_lock: %s", PQerrorMessage(c));
  std::exit(1);
}

void run(PGconn* c, const char* sql) {
  auto* r = PQexec(c, sql);
  auto s = PQresultStatus(r);
  PQclear(r);
  if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK)
    give_up(c);
}

struct statement {
  const char* name;
  const char* sql;
};
constexpr std::array statements = {
    statement{"begin", "begin"},
    statement{"commit", "commit"},
    statement{"rollback", "rollback"},
    statement{"lock",
              "select secret_sha256, uses_left, expires_ms, revoked from tokens"
              " where id = $1 for update"},
    statement{"spend",
              "update tokens set uses_left = uses_left - 1 where id = $1"},
    statement{"event",
              "insert into events (stream, type, tenant, time_ms, actor,"
              " correlation, data, internal) values ($1,$2,$3,$4,$5,$6,$7,$8)"},
    statement{"node", "insert into nodes values ($1,$2,$3,$4,$5,1,$6,$6)"},
    statement{"cert", "insert into node_certs values ($1,$2,$3,$4,$5,$6)"},
    statement{"answer", "insert into answers values ($1,$2,$3)"},
};

using parameters = std::vector<std::string>;

void send(PGconn* c, const char* name, const parameters& p) {
  std::vector<const char*> values;
  for (const auto& v : p)
    values.push_back(v.c_str());
  if (PQsendQueryPrepared(c, name, static_cast<int>(p.size()), values.data(),
                          nullptr, nullptr, 0) != 1)
    give_up(c);
}

// Reads the results of one pipeline up to its sync; the last row-bearing one
// is the caller's to clear.
PGresult* drain(PGconn* c, bool& good) {
  PGresult* rows = nullptr;
  good = true;
  for (;;) {
    auto* r = PQgetResult(c);
    if (r == nullptr)
      continue;  // between two queries of a pipeline
    auto s = PQresultStatus(r);
    if (s == PGRES_PIPELINE_SYNC) {
      PQclear(r);
      return rows;
    }
    if (s == PGRES_TUPLES_OK && rows == nullptr) {
      rows = r;
      continue;
    }
    good = good && s == PGRES_COMMAND_OK;
    PQclear(r);
  }
}

}  // namespace

struct row_lock::impl {
  explicit impl(const world& given) : w(given) {}

  const world& w;
  std::string url;
  std::vector<PGconn*> connections;
  std::map<std::string, events::join_token::created, std::less<>> tokens;

  PGconn* connect() {
    auto* c = PQconnectdb(url.c_str());
    if (PQstatus(c) != CONNECTION_OK)
      give_up(c);
    return c;
  }

  bool write(PGconn* c, const events::join_token::created& token,
             const actors::admission_plan& plan, const std::string& hardware,
             time_point now);
};

row_lock::row_lock(const world& w, std::string url, std::size_t connections)
    : impl_(std::make_unique<impl>(w)) {
  impl_->url = std::move(url);
  auto* first = impl_->connect();
  run(first, tables);
  PQfinish(first);
  for (std::size_t i = 0; i < connections; ++i) {
    auto* c = impl_->connect();
    run(c, "set search_path = row_lock");
    for (const auto& s : statements)
      PQclear(PQprepare(c, s.name, s.sql, 0, nullptr));
    if (PQenterPipelineMode(c) != 1)
      give_up(c);
    impl_->connections.push_back(c);
  }
}

row_lock::~row_lock() {
  for (auto* c : impl_->connections)
    PQfinish(c);
}

void row_lock::add(const token& t) {
  auto* c = impl_->connections.front();
  PQexitPipelineMode(c);
  auto sql = "insert into tokens values ('" + t.record.id.str() + "','" +
             t.record.secret_sha256 + "'," + std::to_string(t.record.max_uses) +
             "," + std::to_string(to_millis(t.record.expires_at)) + ")";
  run(c, sql.c_str());
  PQenterPipelineMode(c);
  impl_->tokens.emplace(t.record.id.str(), t.record);
}

bool row_lock::impl::write(PGconn* c, const events::join_token::created& token,
                           const actors::admission_plan& plan,
                           const std::string& hardware, time_point now) {
  const auto now_text = std::to_string(to_millis(now));
  std::string node;
  for (const auto& writes : plan.batch.writes)
    for (const auto& e : writes.events) {
      send(c, "event",
           {writes.stream, e.type, writes.tenant, now_text, "machine",
            plan.batch.correlation, e.data, e.internal});
      if (writes.stream.starts_with("node:"))
        node = writes.stream;
    }
  events::node::adopted adopted{node_id::parse(node.substr(5)).value(), now};
  auto third = events::node::encode(adopted);
  send(c, "event",
       {node, third.type, token.tenant.str(), now_text, "system",
        plan.batch.correlation, third.data, third.internal});
  send(c, "node",
       {node, token.tenant.str(), token.site.str(), token.pool->str(), hardware,
        now_text});
  auto claim_named = [&](std::string_view prefix) {
    for (const auto& writes : plan.batch.writes)
      for (const auto& e : writes.events)
        for (const auto& m : e.effect.claims)
          if (m.claim.starts_with(prefix))
            return m.claim;
    return std::string{};
  };
  send(c, "cert",
       {claim_named("serial:"), node, claim_named("spki:"), now_text, now_text,
        to_base64(as_bytes(plan.answer.text).first(600))});
  send(c, "answer",
       {plan.batch.answers_free.front(), plan.answer.text, now_text});
  send(c, "spend", {token.id.str()});
  send(c, "commit", {});
  PQpipelineSync(c);
  bool good = false;
  PQclear(drain(c, good));
  if (!good) {
    send(c, "rollback", {});
    PQpipelineSync(c);
    bool ignored = false;
    PQclear(drain(c, ignored));
  }
  return good;
}

bool row_lock::join(std::size_t which, const std::string& body) {
  auto& all = *impl_;
  auto* c = all.connections[which];
  auto now = bc::system_clock{}.now();
  // The cryptography, before any lock.
  auto request = wire::decode_join_request(body);
  if (!request)
    return false;
  auto csr_sha256 = pki::sha256(request.value().csr);
  auto csr = pki::parse_csr(request.value().csr);
  if (!csr || !pki::self_signature_verifies(csr.value()))
    return false;
  auto opened =
      pki::open_seal(all.w.keys->join_encryption,
                     request.value().sealed_token.value(), csr_sha256, now);
  if (!opened)
    return false;
  auto bearer = events::join_token::parse_bearer(opened.value().expose_text());
  auto known = all.tokens.find(bearer->id.str());
  if (known == all.tokens.end())
    return false;
  const auto& claims = request.value().hardware;
  auto hardware = pki::derive_hardware_key(pki::normalise(
      {claims.product_uuid, claims.product_serial, {}, {}, {}, {}, {}}));
  auto planned = actors::plan_admission(
      *all.w.keys, pki::max_node_lifetime, judged_alone(known->second),
      {request.value(), csr.value().key, hardware, csr_sha256, plain_identity,
       known->first},
      spending_of(known->second, csr_sha256), "req_bench", now);
  if (!planned)
    return false;
  const auto& plan = planned.value();
  actors::answer_signer signer{*all.w.keys, csr_sha256};
  auto answer = wire::encode(signer.joined(plan.answer, now));

  send(c, "begin", {});
  send(c, "lock", {bearer->id.str()});
  PQpipelineSync(c);
  bool good = false;
  auto* row = drain(c, good);
  bool usable = row != nullptr && PQntuples(row) == 1 &&
                to_hex(events::join_token::secret_digest(bearer->secret)) ==
                    PQgetvalue(row, 0, 0) &&
                std::atoll(PQgetvalue(row, 0, 1)) > 0 &&
                std::atoll(PQgetvalue(row, 0, 2)) > to_millis(now) &&
                PQgetvalue(row, 0, 3)[0] == 'f';
  PQclear(row);
  return good && usable &&
         all.write(c, known->second, plan, hardware.hex, now) &&
         !answer.empty();
}

}  // namespace bc::bench
