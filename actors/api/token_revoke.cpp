#include "actors/api/token_revoke.hpp"

#include "actors/api/records.hpp"
#include "events/streams.hpp"

namespace bc::actors::api {

namespace {

using events::join_token::state;

void answer_unchanged(exchange_ptr x, const shared_state<state>& stored,
                      std::function<void()> again) {
  auto b = x->new_batch();
  b.writes.push_back(
      {events::stream_of(stored->token->id), {}, stored->version, {}});
  confirm(
      x, std::move(b),
      [x, stored](std::uint64_t position) {
        x->answer(record_text(row_of(*stored), position));
      },
      std::move(again));
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

void append_revocation(exchange_ptr x, const shared_state<state>& token,
                       const events::join_token::event& event,
                       std::function<void()> again) {
  auto stream = events::stream_of(token->token->id);
  auto b = x->new_batch();
  b.writes.push_back({stream,
                      x->who.tenant.str(),
                      std::nullopt,
                      {events::join_token::encode(event)}});
  // Open: of two revocations at once, one writes the event.
  b.budgets.push_back({std::move(stream), 0});
  x->streams->append(
      std::move(b), then(x, [x, token, event, again = std::move(again)](
                                const events::append_outcome& outcome) {
        if (const auto* done = std::get_if<events::appended>(&outcome))
          return answer_revoked(x, token, event, done->events.back());
        x->retry(again);
      }));
}

}  // namespace

void revoke_token(exchange_ptr x, const join_token_id& id,
                  events::join_token::revoke command,
                  std::function<void()> again) {
  x->streams->token(
      id, then(x, [x, command = std::move(command),
                   again = std::move(again)](const shared_state<state>& token) {
        auto decided = decide(*token, command);
        if (!decided)
          return x->refuse(decided.error());
        if (decided.value().empty())
          return answer_unchanged(x, token, again);
        append_revocation(x, token, decided.value().front(), again);
      }));
}

}  // namespace bc::actors::api
