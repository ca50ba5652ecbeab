#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "events/join_token.hpp"
#include "events/streams.hpp"

// joinTokens.list and joinTokens.revoke (spec: api-join-tokens).
namespace bc::actors::api {

namespace {

using events::join_token::state;

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

void answer_unchanged(exchange_ptr x, const shared_state<state>& stored) {
  auto b = x->new_batch();
  b.writes.push_back(
      {events::stream_of(stored->token->id), {}, stored->version, {}});
  confirm(
      x, std::move(b),
      [x, stored](std::uint64_t position) {
        x->answer(record_text(row_of(*stored), position));
      },
      [x] { join_tokens_revoke(x); });
}

// Uses that were spent between the load and the append are in the stream by
// now.
void answer_revoked(exchange_ptr x, const shared_state<state>& before,
                    const events::join_token::event& e,
                    const events::envelope& written) {
  x->wrote(written.position);
  auto answer = [x, position = written.position](const state& s) {
    x->answer(record_text(row_of(s), position));
  };
  if (written.version == before->version + 1)
    return answer(evolve(*before, e));
  x->streams->token(before->token->id,
                    then(x, [answer, e](const shared_state<state>& after) {
                      answer(after->revoked_at ? *after : evolve(*after, e));
                    }));
}

void revoke(exchange_ptr x, const revoke_input& in,
            const shared_state<state>& token) {
  auto decided = decide(*token, events::join_token::revoke{
                                    x->who.tenant, in.pool, x->streams->now()});
  if (!decided)
    return x->refuse(decided.error());
  if (decided.value().empty())
    return answer_unchanged(x, token);
  auto event = decided.value().front();
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(in.token),
                      x->who.tenant.str(),
                      std::nullopt,
                      {events::join_token::encode(event)}});
  // Open: of two revocations at once, one writes the event.
  b.budgets.push_back({events::stream_of(in.token), 0});
  x->streams->append(
      std::move(b),
      then(x, [x, token, event](const events::append_outcome& outcome) {
        if (const auto* done = std::get_if<events::appended>(&outcome))
          return answer_revoked(x, token, event, done->events.back());
        x->retry([x] { join_tokens_revoke(x); });
      }));
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
        x->streams->query(read, then(x, [x](std::string answer) {
                            x->answer(std::move(answer));
                          }));
      }));
}

void join_tokens_revoke(exchange_ptr x) {
  auto read = read_revoke(x->in());
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  x->streams->token(in.token,
                    then(x, [x, in](const shared_state<state>& token) {
                      revoke(x, in, token);
                    }));
}

}  // namespace bc::actors::api
