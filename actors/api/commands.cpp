#include "actors/api/await_models.hpp"
#include "actors/api/command_records.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/batches.hpp"
#include "events/command_output.hpp"
#include "events/command_rules.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "projections/queries.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

// commands.enqueue.
namespace bc::actors::api {

namespace {

using events::command::enqueued;
using state = events::command::state;

constexpr std::int64_t default_lifetime = 3'600;
constexpr std::size_t max_payload = 16 * 1024;
constexpr std::string_view no_payload = "{}";
constexpr int most_waiting = 1'000;

// The id says who asked for what, so a retry finds the command of the first
// call, and nobody finds another's.
command_id id_for(const caller& who, std::string_view key) {
  pki::field_hash hash;
  hash.add("commands").add(who.tenant.str()).add(who.principal).add(key);
  return command_id::from_digest(std::move(hash).finish());
}

result<std::string> read_payload(const json::reader& in) {
  if (!in.has("payload"))
    return std::string{no_payload};
  BC_TRY(payload, in.object("payload"));
  auto text = json::to_text(payload.raw());
  if (text.size() > max_payload)
    return fail(errc::invalid_input, "is longer than 16384 bytes", "/payload");
  return text;
}

result<enqueued> read_enqueue(const exchange& x) {
  auto in = x.in();
  enqueued out;
  out.tenant = x.who.tenant;
  BC_TRY(node, in.text("nodeId"));
  auto id = node_id::parse(node);
  if (!id)
    return fail(errc::not_found, "No such node");
  out.node = id.value();
  BC_TRY(kind, in.text("kind"));
  if (!events::is_command_kind(kind))
    return fail(errc::invalid_input, "is no kind of command", "/kind");
  out.kind = std::move(kind);
  BC_TRY(payload, read_payload(in));
  if (out.kind == events::kind_acceptance && payload != no_payload)
    return fail(errc::invalid_input,
                "must be left out: it is made of the checks of the node's pool",
                "/payload");
  out.payload = std::move(payload);
  BC_TRY(ttl, in.optional_integer("ttlSeconds"));
  out.at = x.streams->now();
  out.expires_at = out.at + seconds{ttl.value_or(default_lifetime)};
  BC_TRY(key, in.text("idempotencyKey"));
  out.id = id_for(x.who, key);
  return out;
}

std::string answer_text(const exchange& x, const state& s,
                        std::uint64_t position) {
  return record_text(command_record{row_of(s), x.streams->now()}, position);
}

void answer_stored(exchange_ptr x, enqueued asked,
                   const shared_state<state>& stored) {
  // What the caller left to the server.
  if (asked.kind == events::kind_acceptance)
    asked.payload = stored->command->payload;
  auto same = decide(*stored, events::command::enqueue{asked});
  if (!same)
    return x->refuse(same.error());
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(asked.id), {}, stored->version, {}});
  confirm(
      x, std::move(b),
      [x, stored](std::uint64_t position) {
        x->answer(answer_text(*x, *stored, position));
      },
      [x, asked] {
        x->streams->command(
            asked.id, then(x, [x, asked](const shared_state<state>& again) {
              answer_stored(x, asked, again);
            }));
      });
}

void on_append(exchange_ptr x, const enqueued& asked,
               const events::append_outcome& outcome) {
  if (const auto* done = std::get_if<events::appended>(&outcome)) {
    const auto position = done->events.back().position;
    x->wrote(position);
    return x->answer(answer_text(*x, evolve({}, asked), position));
  }
  const auto& no = std::get<events::rejected>(outcome);
  if (no.subject != events::stream_of(asked.id))
    return x->retry([x] { commands_enqueue(x); });
  // Another call with this key was first.
  x->streams->command(asked.id,
                      then(x, [x, asked](const shared_state<state>& first) {
                        if (!first->command)
                          return x->retry([x] { commands_enqueue(x); });
                        answer_stored(x, asked, first);
                      }));
}

void enqueue(exchange_ptr x, const enqueued& asked,
             std::vector<events::stream_write> ground) {
  auto b = x->new_batch();
  b.writes = std::move(ground);
  b.writes.push_back({events::stream_of(asked.id),
                      x->who.tenant.str(),
                      0,
                      {events::command::encode(asked)}});
  x->streams->append(std::move(b),
                     then(x, [x, asked](const events::append_outcome& outcome) {
                       on_append(x, asked, outcome);
                     }));
}

// Another process may have changed what this rests on.
void refuse_on(exchange_ptr x, std::vector<events::stream_write> ground,
               const fault& why) {
  auto b = x->new_batch();
  b.writes = std::move(ground);
  refuse_confirmed(x, std::move(b), why, [x] { commands_enqueue(x); });
}

void enqueue_acceptance(exchange_ptr x, enqueued asked,
                        std::vector<events::stream_write> ground,
                        const std::optional<pool_id>& pool) {
  const auto none =
      fail(errc::invalid_state, "The node's pool has no acceptance checks");
  // A site agent, which never has one.
  if (!pool)
    return x->refuse(none);
  x->streams->pool(
      *pool,
      then(x, [x, none, pool = *pool, asked = std::move(asked),
               ground = std::move(ground)](
                  const shared_state<events::pool::state>& found) mutable {
        ground.push_back(pin(events::stream_of(pool), found->version));
        if (!found->pool || found->pool->rules.acceptance_checks.empty())
          return refuse_on(x, std::move(ground), none);
        asked.payload =
            events::acceptance_payload(found->pool->rules.acceptance_checks);
        enqueue(x, asked, std::move(ground));
      }));
}

// A bound on what is kept and sent again, and so no exact one: the read models
// may be a moment behind. Nobody is refused by what they do not show yet.
void unless_too_many_wait(exchange_ptr x, const node_id& node,
                          std::function<void()> next, bool current = false) {
  x->streams->query(
      [node = node.str(), now = x->streams->now()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(waiting, q.pending_commands(node, now, most_waiting));
        return std::to_string(waiting.size());
      },
      then(x, [x, node, current,
               next = std::move(next)](const std::string& waiting) {
        if (waiting != std::to_string(most_waiting))
          return next();
        if (!current)
          return x->streams->head(
              then(x, [x, node, next](const events::head_row& head) {
                await_models(x, head.position, [x, node, next] {
                  unless_too_many_wait(x, node, next, true);
                });
              }));
        x->refuse(errc::invalid_state,
                  waiting + " commands wait for this node already");
      }));
}

void enqueue_for(exchange_ptr x, enqueued asked,
                 const events::node::state& node) {
  // What another tenant owns answers as what does not exist.
  if (!node.node || node.node->tenant != x->who.tenant)
    return x->refuse(errc::not_found, "No such node");
  std::vector<events::stream_write> ground;
  ground.push_back(pin(events::stream_of(asked.node), node.version));
  if (auto takes = events::check_enqueue(node, asked.kind); !takes)
    return refuse_on(x, std::move(ground), takes.error());
  asked.node_version = node.version;
  unless_too_many_wait(
      x, asked.node,
      [x, asked, ground = std::move(ground), pool = node.node->pool] {
        if (asked.kind == events::kind_acceptance)
          return enqueue_acceptance(x, asked, ground, pool);
        enqueue(x, asked, ground);
      });
}

}  // namespace

void commands_replay(exchange_ptr x, std::function<void()> next) {
  auto asked = read_enqueue(*x);
  if (!asked)
    return x->refuse(asked.error());
  x->streams->command(
      asked.value().id,
      then(x, [x, asked = asked.value(),
               next = std::move(next)](const shared_state<state>& stored) {
        if (!stored->command)
          return next();
        answer_stored(x, asked, stored);
      }));
}

void commands_enqueue(exchange_ptr x) {
  auto asked = read_enqueue(*x);
  if (!asked)
    return x->refuse(asked.error());
  x->streams->node(asked.value().node,
                   then(x, [x, asked = asked.value()](
                               const shared_state<events::node::state>& node) {
                     enqueue_for(x, asked, *node);
                   }));
}

}  // namespace bc::actors::api
