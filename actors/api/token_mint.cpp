#include "actors/api/token_mint.hpp"

#include "actors/api/records.hpp"
#include "actors/token_secret.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::join_token::created;
using events::join_token::state;

void answer_stored(exchange_ptr x, const created& asked,
                   const shared_state<state>& stored) {
  auto same = decide(*stored, events::join_token::create{asked});
  if (!same)
    return x->refuse(same.error());
  // Redemptions may go on meanwhile; only a revocation would make the record
  // wrong, and that closes the budget for ever.
  auto b = x->new_batch();
  if (!stored->revoked_at)
    b.budgets.push_back({events::stream_of(asked.id), 0});
  confirm(
      x, std::move(b),
      [x, stored](std::uint64_t position) {
        x->answer(record_text(row_of(*stored), position));
      },
      [x, asked] {
        x->streams->token(asked.id,
                          then(x, [x, asked](const shared_state<state>& again) {
                            answer_stored(x, asked, again);
                          }));
      });
}

std::string answer_text(const created& made, const secret_bytes& secret,
                        std::uint64_t position) {
  json::writer out;
  out.begin_object();
  put(out, row_of(evolve({}, made)));
  out.field("token", bearer_text(made.id, secret)).field("position", position);
  return out.end_object().str();
}

struct minted {
  created token;
  secret_bytes secret;
};

void after_append(exchange_ptr x, const std::shared_ptr<const minted>& made,
                  const events::append_outcome& outcome,
                  const std::function<void()>& again) {
  const auto& token = made->token;
  if (const auto* done = std::get_if<events::appended>(&outcome)) {
    const auto position = done->events.back().position;
    x->wrote(position);
    return x->answer(answer_text(token, made->secret, position));
  }
  const auto& no = std::get<events::rejected>(outcome);
  if (no.subject != events::stream_of(token.id))
    return x->retry(again);
  x->streams->token(
      token.id, then(x, [x, token, again](const shared_state<state>& first) {
        if (!first->token)
          return x->retry(again);
        answer_stored(x, token, first);
      }));
}

}  // namespace

join_token_id token_id_for(const caller& who, std::string_view group,
                           std::string_view key) {
  pki::field_hash hash;
  hash.add(group).add(who.tenant.str()).add(who.principal).add(key);
  return join_token_id::from_digest(std::move(hash).finish());
}

void replay_token(exchange_ptr x, const asked_token& asked,
                  std::function<void()> next) {
  x->streams->token(asked.token.id,
                    then(x, [x, token = asked.token, next = std::move(next)](
                                const shared_state<state>& stored) {
                      if (!stored->token)
                        return next();
                      answer_stored(x, token, stored);
                    }));
}

void mint_token(exchange_ptr x, const asked_token& asked,
                std::vector<events::stream_write> ground,
                std::function<void()> again) {
  auto made = std::make_shared<minted>();
  made->token = asked.token;
  made->secret = give_secret(made->token, x->streams->now(), asked.lifetime);
  auto b = x->new_batch();
  b.writes = std::move(ground);
  b.writes.push_back({events::stream_of(made->token.id),
                      x->who.tenant.str(),
                      0,
                      {events::join_token::encode(made->token)}});
  x->streams->append(std::move(b),
                     then(x, [x, made, again = std::move(again)](
                                 const events::append_outcome& outcome) {
                       after_append(x, made, outcome, again);
                     }));
}

}  // namespace bc::actors::api
