#include "actors/api/methods.hpp"
#include "actors/api/token_mint.hpp"
#include "actors/batches.hpp"
#include "events/streams.hpp"

#include <optional>

// joinTokens.create (spec: api-join-tokens#create).
namespace bc::actors::api {

namespace {

/// What is asked for. Whether `expect` names a placeholder is judged apart: the
/// list of them grows, and a retry is about what was made before it did.
struct create_input {
  asked_token asked;
  std::optional<std::string> placeholder;  // the field's name
};

result<void> check_expect(const create_input& in) {
  if (in.placeholder)
    return fail(errc::invalid_input, "is a placeholder or can match no machine",
                "/expect/" + *in.placeholder);
  return ok();
}

result<pki::normalised_expectation> read_expect(
    const json::reader& in, const pki::shared_uuids& shared) {
  if (!in.has("expect"))
    return pki::normalised_expectation{};
  BC_TRY(given, in.object("expect"));
  BC_TRY(uuid, given.optional_text("productUuid"));
  BC_TRY(serial, given.optional_text("serial"));
  BC_TRY(mac, given.optional_text("mac"));
  BC_TRY(gpu, given.optional_text("gpuUuid"));
  auto normal = pki::normalise_expectation({uuid, serial, mac, gpu}, shared);
  if (normal.value.empty())
    return fail(errc::invalid_input, "must name at least one identifier",
                "/expect");
  return normal;
}

result<create_input> read_create(const exchange& x) {
  auto json = x.in();
  create_input in;
  auto& token = in.asked.token;
  token.tenant = x.who.tenant;
  BC_TRY(pool_text, json.text("poolId"));
  // A text that is no pool id of ours is no stored token's pool either.
  if (auto pool = pool_id::parse(pool_text))
    token.pool = pool.value();
  BC_TRY(uses, json.optional_integer("maxUses"));
  token.max_uses = uses.value_or(1);
  BC_TRY(ttl, json.integer("ttlSeconds"));
  in.asked.lifetime = seconds{ttl};
  BC_TRY(expect, read_expect(json, x.env->shared_uuids));
  token.expect = expect.value;
  in.placeholder = expect.bad_field;
  BC_TRY(reclaim, json.boolean_or("allowReclaim", false));
  token.allow_reclaim = reclaim;
  BC_TRY(hosted, json.optional_text("hosted"));
  // The schema's `enum` compares hashes, so the text is read once more.
  if (hosted && *hosted != "kubernetes")
    return fail(errc::invalid_input, "must be kubernetes", "/hosted");
  token.hosted = hosted;
  BC_TRY(key, json.text("idempotencyKey"));
  token.id = token_id_for(x.who, "joinTokens", key);
  return in;
}

// What a pool allows; nothing here was decided on the machine yet.
result<void> check_pool(const exchange& x, const events::pool::state& s) {
  if (!s.pool || s.pool->tenant != x.who.tenant)
    return fail(errc::not_found, "No such pool");
  if (s.archived_at)
    return fail(errc::invalid_state, "The pool is archived");
  if (s.pool->pool_agent != events::pool::agent::bcd)
    return fail(errc::invalid_state,
                "The machines of this pool run no daemon (its agent is not "
                "bcd)");
  return ok();
}

result<void> check_site(const exchange& x, const events::site::state& s) {
  if (s.deleted_at)
    return fail(errc::invalid_state, "The pool's site is deleted");
  // No machine could join with it.
  if (!is_visible_to(*s.site, x.who.tenant))
    return fail(errc::invalid_state,
                "The pool's site no longer serves this tenant");
  return ok();
}

// Another process may have changed what this rests on.
void refuse_on(exchange_ptr x, std::vector<events::stream_write> ground,
               const fault& why) {
  auto b = x->new_batch();
  b.writes = std::move(ground);
  refuse_confirmed(x, std::move(b), why, [x] { join_tokens_create(x); });
}

void mint_for(exchange_ptr x, asked_token in, const events::pool::state& pool,
              const events::site::state& site) {
  std::vector<events::stream_write> ground{
      pin(events::stream_of(pool.pool->id), pool.version),
      pin(events::stream_of(pool.pool->site), site.version)};
  if (auto good = check_site(*x, site); !good)
    return refuse_on(x, std::move(ground), good.error());
  in.token.site = pool.pool->site;
  mint_token(x, in, std::move(ground), [x] { join_tokens_create(x); });
}

}  // namespace

void join_tokens_replay(exchange_ptr x, std::function<void()> next) {
  auto in = read_create(*x);
  if (!in)
    return x->refuse(in.error());
  replay_token(x, in.value().asked,
               [x, good = check_expect(in.value()), next = std::move(next)] {
                 if (!good)
                   return x->refuse(good.error());
                 next();
               });
}

void join_tokens_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  if (auto good = check_expect(read.value()); !good)
    return x->refuse(good.error());
  auto in = std::move(read).value().asked;
  if (!in.token.pool)
    return x->refuse(errc::not_found, "No such pool");
  x->streams->pool(
      *in.token.pool,
      then(x, [x, in](const shared_state<events::pool::state>& pool) {
        if (auto good = check_pool(*x, *pool); !good)
          return refuse_on(
              x, {pin(events::stream_of(*in.token.pool), pool->version)},
              good.error());
        x->streams->site(
            pool->pool->site,
            then(x,
                 [x, in, pool](const shared_state<events::site::state>& site) {
                   mint_for(x, in, *pool, *site);
                 }));
      }));
}

}  // namespace bc::actors::api
