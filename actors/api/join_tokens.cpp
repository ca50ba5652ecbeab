#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "base/encoding.hpp"
#include "events/join_token.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <optional>

// joinTokens.create (spec: api-join-tokens#create).
namespace bc::actors::api {

namespace {

using events::join_token::created;
using events::join_token::state;

struct create_input {
  join_token_id id;
  std::string pool;
  std::int64_t max_uses = 1;
  seconds lifetime{};
  pki::hardware_expectation expect;  // normalised
  bool allow_reclaim = false;
  std::optional<std::string> hosted;
};

// The id says who asked for what, so a retry finds the token of the first
// call, and nobody finds another's (case 19).
join_token_id id_for(const caller& who, std::string_view key) {
  pki::field_hash hash;
  hash.add("joinTokens").add(who.tenant.str()).add(who.principal).add(key);
  auto digest = std::move(hash).finish();
  return join_token_id::from_digest(digest);
}

result<pki::hardware_expectation> read_expect(const json::reader& in) {
  if (!in.has("expect"))
    return pki::hardware_expectation{};
  BC_TRY(given, in.object("expect"));
  BC_TRY(uuid, given.optional_text("productUuid"));
  BC_TRY(serial, given.optional_text("serial"));
  BC_TRY(mac, given.optional_text("mac"));
  BC_TRY(gpu, given.optional_text("gpuUuid"));
  auto normal = pki::normalise_expectation({uuid, serial, mac, gpu});
  if (normal.bad_field)
    return fail(errc::invalid_input, "is a placeholder or can match no machine",
                "/expect/" + *normal.bad_field);
  if (normal.value.empty())
    return fail(errc::invalid_input, "must name at least one identifier",
                "/expect");
  return normal.value;
}

result<create_input> read_create(const exchange& x) {
  auto json = x.in();
  create_input in;
  BC_TRY(pool, json.text("poolId"));
  in.pool = pool;
  BC_TRY(uses, json.optional_integer("maxUses"));
  in.max_uses = uses.value_or(1);
  BC_TRY(ttl, json.integer("ttlSeconds"));
  in.lifetime = seconds{ttl};
  BC_TRY(expect, read_expect(json));
  in.expect = expect;
  BC_TRY(reclaim, json.boolean_or("allowReclaim", false));
  in.allow_reclaim = reclaim;
  BC_TRY(hosted, json.optional_text("hosted"));
  // The schema's `enum` compares hashes, so the text is read once more.
  if (hosted && *hosted != "kubernetes")
    return fail(errc::invalid_input, "must be kubernetes", "/hosted");
  in.hosted = hosted;
  BC_TRY(key, json.text("idempotencyKey"));
  in.id = id_for(x.who, key);
  return in;
}

created token_of(const exchange& x, const create_input& in) {
  created token;
  token.id = in.id;
  token.tenant = x.who.tenant;
  // A text that is no pool id of ours is no stored token's pool either.
  if (auto pool = pool_id::parse(in.pool))
    token.pool = pool.value();
  token.max_uses = in.max_uses;
  token.expect = in.expect;
  token.allow_reclaim = in.allow_reclaim;
  token.hosted = in.hosted;
  return token;
}

// The stored record, without the token; CONFLICT when the key was used for
// something else.
void answer_stored(exchange_ptr x, const create_input& in,
                   const shared_state<state>& stored) {
  auto same = decide(*stored, events::join_token::create{token_of(*x, in)});
  if (!same)
    return x->refuse(same.error());
  // Redemptions may go on meanwhile; only a revocation would make the record
  // wrong, and that closes the budget for ever.
  auto b = x->new_batch();
  if (!stored->revoked_at)
    b.budgets.push_back({events::stream_of(in.id), 0});
  confirm(
      x, std::move(b),
      [x, stored](std::uint64_t position) {
        x->answer(record_text(row_of(*stored), position));
      },
      [x, in] {
        x->streams->token(in.id,
                          then(x, [x, in](const shared_state<state>& again) {
                            answer_stored(x, in, again);
                          }));
      });
}

std::string answer_text(const state& s, std::string_view secret,
                        std::uint64_t position) {
  json::writer out;
  out.begin_object();
  put(out, row_of(s));
  out.field("token", "bcjt_" + s.token->id.str() + "." + std::string{secret})
      .field("position", position);
  return out.end_object().str();
}

struct minted {
  created token;
  secret_bytes secret;
};

void after_append(exchange_ptr x, const create_input& in,
                  const std::shared_ptr<const minted>& made,
                  const events::append_outcome& outcome) {
  if (const auto* done = std::get_if<events::appended>(&outcome)) {
    x->wrote(done->events.back().position);
    return x->answer(answer_text(evolve({}, made->token),
                                 made->secret.expose_text(),
                                 done->events.back().position));
  }
  // Another call with this key was first: its token is the answer (case 18).
  const auto& no = std::get<events::rejected>(outcome);
  if (no.subject != events::stream_of(in.id))
    return x->retry([x] { join_tokens_create(x); });
  x->streams->token(in.id, then(x, [x, in](const shared_state<state>& first) {
                      if (!first->token)
                        return x->retry([x] { join_tokens_create(x); });
                      answer_stored(x, in, first);
                    }));
}

void mint(exchange_ptr x, const create_input& in,
          const events::pool::state& pool, const events::site::state& site) {
  auto now = x->streams->now();
  auto made = std::make_shared<minted>();
  auto raw = pki::random_secret(32);
  made->secret = secret_bytes{to_base64url(raw.expose())};
  made->token = token_of(*x, in);
  made->token.site = pool.pool->site;
  made->token.created_at = now;
  made->token.expires_at = now + in.lifetime;
  made->token.secret_sha256 =
      to_hex(events::join_token::secret_digest(made->secret));

  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(in.id),
                      x->who.tenant.str(),
                      0,
                      {events::join_token::encode(made->token)}});
  b.writes.push_back({events::stream_of(pool.pool->id), {}, pool.version, {}});
  b.writes.push_back(
      {events::stream_of(pool.pool->site), {}, site.version, {}});
  x->streams->append(
      std::move(b),
      then(x, [x, in, made](const events::append_outcome& outcome) {
        after_append(x, in, made, outcome);
      }));
}

// What a pool allows; nothing here was decided on the machine yet.
result<void> check_pool(const exchange& x, const create_input& in,
                        const events::pool::state& s) {
  if (!s.pool || s.pool->tenant != x.who.tenant)
    return fail(errc::not_found, "No such pool");
  if (s.pool->pool_agent != events::pool::agent::bcd)
    return fail(errc::invalid_state,
                "The machines of this pool run no daemon (its agent is not "
                "bcd)");
  if (in.hosted)
    return fail(errc::invalid_state, "Hosted tokens are not served yet");
  if (in.allow_reclaim)
    return fail(errc::invalid_state,
                "Tokens that allow a reclaim are not served yet");
  return ok();
}

}  // namespace

void join_tokens_replay(exchange_ptr x, std::function<void()> next) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  x->streams->token(in.id, then(x, [x, in, next = std::move(next)](
                                       const shared_state<state>& stored) {
                      if (!stored->token)
                        return next();
                      answer_stored(x, in, stored);
                    }));
}

void join_tokens_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  auto id = pool_id::parse(in.pool);
  if (!id)
    return x->refuse(errc::not_found, "No such pool");
  x->streams->pool(
      id.value(),
      then(x, [x, in](const shared_state<events::pool::state>& pool) {
        if (auto good = check_pool(*x, in, *pool); !good)
          return x->refuse(good.error());
        x->streams->site(
            pool->pool->site,
            then(x,
                 [x, in, pool](const shared_state<events::site::state>& site) {
                   mint(x, in, *pool, *site);
                 }));
      }));
}

}  // namespace bc::actors::api
