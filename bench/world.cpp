#include "bench/world.hpp"

#include "actors/join_token/token_attesting.hpp"
#include "actors/joining/admission_batch.hpp"
#include "base/encoding.hpp"
#include "events/streams.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bc::bench {

namespace {

time_point now() {
  return system_clock{}.now();
}

events::batch new_batch() {
  events::batch b;
  b.id = pki::mint<batch_id>(now());
  b.actor = "bench";
  b.correlation = "req_bench";
  return b;
}

events::batch first(const events::stream_id& stream, const tenant_id& tenant,
                    events::event_write event) {
  auto b = new_batch();
  b.writes.push_back({stream, tenant.str(), 0, {std::move(event)}});
  return b;
}

std::string random_uuid(const std::string& hex) {
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(12, 3) +
         "-a" + hex.substr(15, 3) + "-" + hex.substr(18, 12);
}

std::string body_of(const world& w, const token& t) {
  wire::join_request r;
  r.role = "node";
  r.site_id = w.site.id.str();
  r.csr = pki::build_csr(pki::private_key::generate());
  auto hex = to_hex(pki::random_bytes(16));
  r.hardware.product_uuid = random_uuid(hex);
  r.hardware.product_serial = "BENCH" + hex.substr(20, 10);
  r.sealed_token = pki::seal_token(w.keys->join_encryption.pub(), t.bearer,
                                   pki::sha256(r.csr), now());
  return wire::encode(r);
}

}  // namespace

void give_up(const fault& f) {
  std::fprintf(stderr, "bench: %s %s\n", f.message.c_str(), f.detail.c_str());
  std::exit(1);
}

void append_all(events::journal& store, std::vector<events::batch> group) {
  auto done = store.append(group);
  if (!done)
    give_up(done.error());
  for (const auto& outcome : done.value())
    if (const auto* why = std::get_if<events::rejected>(&outcome))
      give_up(fail(errc::internal, "rejected: " + why->subject));
}

world make_world() {
  world w;
  auto keys = pki::make_bundle("bench.example", now());
  if (!keys)
    give_up(keys.error());
  w.keys = std::make_shared<pki::key_bundle>(std::move(keys).value());
  // Sections share a store, in which names are unique.
  const auto name = "bench-" + to_hex(pki::random_bytes(6));
  w.tenant = {pki::mint<tenant_id>(now()), name, true, now()};
  w.site = {pki::mint<site_id>(now()), w.tenant.id, name,
            events::site::kind::dedicated, now()};
  w.pool = {pki::mint<pool_id>(now()), w.tenant.id, w.site.id, name,
            events::pool::agent::bcd,  now()};
  return w;
}

void found(const world& w, events::journal& store) {
  append_all(store, {first(events::stream_of(w.tenant.id), w.tenant.id,
                           events::tenant::encode(w.tenant)),
                     first(events::stream_of(w.site.id), w.tenant.id,
                           events::site::encode(w.site)),
                     first(events::stream_of(w.pool.id), w.tenant.id,
                           events::pool::encode(w.pool))});
}

std::vector<token> mint_tokens(const world& w, events::journal& store,
                               std::size_t count, std::int64_t uses) {
  std::vector<token> out;
  std::vector<events::batch> group;
  for (std::size_t i = 0; i < count; ++i) {
    events::join_token::created t;
    auto secret = to_base64url(pki::random_bytes(32));
    t.id = pki::mint<join_token_id>(now());
    t.tenant = w.tenant.id;
    t.pool = w.pool.id;
    t.site = w.site.id;
    t.max_uses = uses;
    t.created_at = now();
    t.expires_at = now() + seconds{86'400};
    t.secret_sha256 = to_hex(events::join_token::secret_digest(
        secret_bytes{std::string_view{secret}}));
    group.push_back(first(events::stream_of(t.id), w.tenant.id,
                          events::join_token::encode(t)));
    out.push_back({t, "bcjt_" + t.id.str() + "." + secret});
    if (group.size() == 512 || i + 1 == count)
      append_all(store, std::exchange(group, {}));
  }
  return out;
}

std::vector<std::string> join_bodies(const world& w,
                                     const std::vector<token>& tokens,
                                     std::size_t count) {
  std::vector<std::string> out(count);
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> makers;
  for (std::size_t c = 0; c < cores; ++c)
    makers.emplace_back([&, c] {
      for (auto i = c; i < count; i += cores)
        out[i] = body_of(w, tokens[i % tokens.size()]);
    });
  return makers.clear(), out;
}

actors::judged_by judged_alone(const events::join_token::created& token) {
  return {std::make_shared<const events::grant>(events::grant_of(token)),
          std::make_shared<const events::pool::state>(),
          std::make_shared<const events::site::state>(),
          std::make_shared<const events::tenant::state>(),
          nullptr,
          nullptr,
          nullptr};
}

actors::spend_for spending_of(const events::join_token::created& token,
                              const pki::sha256_digest& csr) {
  return [&token, csr](const node_id& node) -> result<actors::spending> {
    return actors::spend_token(token, node, csr);
  };
}

std::vector<events::batch> join_batches(const world& w,
                                        const std::vector<token>& tokens,
                                        std::size_t count) {
  std::vector<events::batch> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& token = tokens[i % tokens.size()].record;
    const auto judged = judged_alone(token);
    auto key = pki::private_key::generate();
    wire::join_request request;
    request.hardware.product_serial = to_hex(pki::random_bytes(8));
    request.hardware.hostname = "bench";
    pki::hardware_key hardware{to_hex(pki::random_bytes(32)), true, false};
    auto digest = pki::sha256(key.pub().spki());
    auto plan = actors::plan_admission(
        *w.keys, pki::max_node_lifetime, judged,
        {request, key.pub(), hardware, digest, plain_identity, token.id.str()},
        spending_of(token, digest), "req_bench", now());
    auto& batch = plan.value().batch;
    // The directory is not what is measured.
    std::erase_if(batch.writes,
                  [](const auto& write) { return write.events.empty(); });
    out.push_back(std::move(batch));
  }
  return out;
}

}  // namespace bc::bench
