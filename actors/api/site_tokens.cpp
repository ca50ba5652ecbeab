#include "actors/api/methods.hpp"
#include "actors/api/token_mint.hpp"
#include "actors/api/token_revoke.hpp"
#include "events/streams.hpp"

// siteTokens.create and siteTokens.revoke (spec: api-site-tokens).
namespace bc::actors::api {

namespace {

fault no_such_site() {
  return fail(errc::not_found, "No such site");
}

result<asked_token> read_create(const exchange& x) {
  auto json = x.in();
  BC_TRY(site, json.text("siteId"));
  BC_TRY(uses, json.optional_integer("maxUses"));
  BC_TRY(ttl, json.integer("ttlSeconds"));
  BC_TRY(key, json.text("idempotencyKey"));
  auto id = site_id::parse(site);
  if (!id)
    return no_such_site();
  asked_token in;
  in.token.id = token_id_for(x.who, "siteTokens", key);
  in.token.tenant = x.who.tenant;
  in.token.site = id.value();
  in.token.token_role = events::join_token::role::site;
  in.token.max_uses = uses.value_or(1);
  in.lifetime = seconds{ttl};
  return in;
}

struct revoke_input {
  join_token_id token;
  site_id site;
};

// An id that is none of ours names no token.
result<revoke_input> read_revoke(const json::reader& in) {
  BC_TRY(token, in.text("tokenId"));
  BC_TRY(site, in.text("siteId"));
  auto token_id = join_token_id::parse(token);
  auto id = site_id::parse(site);
  if (!token_id || !id)
    return fail(errc::not_found, "No such site token on this site");
  return revoke_input{token_id.value(), id.value()};
}

}  // namespace

void site_tokens_replay(exchange_ptr x, std::function<void()> next) {
  auto in = read_create(*x);
  if (!in)
    return x->refuse(in.error());
  replay_token(x, in.value(), std::move(next));
}

void site_tokens_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  x->streams->site(
      in.token.site,
      then(x, [x, in](const shared_state<events::site::state>& found) {
        // No answer is stale, whichever process made or deleted the site: a
        // stream without events is read anew, and neither the owner nor an end
        // changes. Platform sites are the root tenant's own.
        if (!found->site || found->site->owner != x->who.tenant)
          return x->refuse(no_such_site());
        if (found->deleted_at)
          return x->refuse(errc::invalid_state, "The site is deleted");
        mint_token(x, in,
                   {{events::stream_of(in.token.site), {}, found->version, {}}},
                   [x] { site_tokens_create(x); });
      }));
}

void site_tokens_revoke(exchange_ptr x) {
  auto read = read_revoke(x->in());
  if (!read)
    return x->refuse(read.error());
  const auto& in = read.value();
  revoke_token(
      x, in.token,
      {x->who.tenant, std::nullopt, x->streams->now(), std::optional{in.site}},
      [x] { site_tokens_revoke(x); });
}

}  // namespace bc::actors::api
