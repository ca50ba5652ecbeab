#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/api/token_revoke.hpp"

// joinTokens.list and joinTokens.revoke (spec: api-join-tokens).
namespace bc::actors::api {

namespace {

struct revoke_input {
  join_token_id token;
  pool_id pool;
};

// An id that is none of ours names no token.
result<revoke_input> read_revoke(const json::reader& in) {
  BC_TRY(token, in.text("tokenId"));
  BC_TRY(pool, in.text("poolId"));
  auto token_id = join_token_id::parse(token);
  auto id = pool_id::parse(pool);
  if (!token_id || !id)
    return fail(errc::not_found, "No such join token in this pool");
  return revoke_input{token_id.value(), id.value()};
}

}  // namespace

void join_tokens_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  auto text = x->in().text("poolId");
  auto all = x->in().boolean_or("includeInactive", false);
  if (!page || !text || !all)
    return x->refuse(errc::invalid_input, "The input does not fit its schema");
  auto id = pool_id::parse(text.value());
  if (!id)
    return x->refuse(errc::not_found, "No such pool");
  auto read = [p = page.value(), pool = text.value(), all = all.value(),
               tenant = x->who.tenant.str(), now = x->streams->now()](
                  projections::queries& q) -> result<std::string> {
    BC_TRY(rows, q.list_join_tokens(tenant, pool, all, now, p.after, p.limit));
    return page_text(rows);
  };
  x->streams->pool(
      id.value(),
      then(x, [x, read](const shared_state<events::pool::state>& found) {
        if (!found->pool || found->pool->tenant != x->who.tenant)
          return x->refuse(errc::not_found, "No such pool");
        answer_from(x, read);
      }));
}

void join_tokens_revoke(exchange_ptr x) {
  auto read = read_revoke(x->in());
  if (!read)
    return x->refuse(read.error());
  const auto& in = read.value();
  revoke_token(x, in.token, {x->who.tenant, in.pool, x->streams->now()},
               [x] { join_tokens_revoke(x); });
}

}  // namespace bc::actors::api
