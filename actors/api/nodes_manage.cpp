#include "actors/api/methods.hpp"
#include "actors/api/node_records.hpp"
#include "actors/api/records.hpp"
#include "actors/batches.hpp"
#include "events/streams.hpp"

#include <functional>
#include <utility>

// What an operator decides on a node: adopt, cordon, delete, revokeIdentity.
namespace bc::actors::api {

namespace {

using events::node::state;
using node_events = std::vector<events::node::event>;

/// What the call asks of a node, at a time.
using command = std::function<result<node_events>(const state&, time_point)>;

void decide_on_node(exchange_ptr x, const command& asked);

// An id that is none of ours names no node.
result<node_id> read_node(const json::reader& in) {
  BC_TRY(text, in.text("nodeId"));
  auto id = node_id::parse(text);
  if (!id)
    return fail(errc::not_found, "No such node");
  return id;
}

std::string answer_text(const exchange& x, const state& s,
                        std::uint64_t position) {
  return record_text(node_record{row_of(s), x.streams->now()}, position);
}

// What was decided stands while the node is as it was read.
events::batch pinned(const exchange& x, const state& node) {
  auto b = x.new_batch();
  b.writes.push_back(pin(events::stream_of(node.node->id), node.version));
  return b;
}

void answer_unchanged(exchange_ptr x, const command& asked,
                      const shared_state<state>& node) {
  confirm(
      x, pinned(*x, *node),
      [x, node](std::uint64_t position) {
        x->answer(answer_text(*x, *node, position));
      },
      [x, asked] { decide_on_node(x, asked); });
}

void append_decided(exchange_ptr x, const command& asked,
                    const shared_state<state>& node,
                    const node_events& decided) {
  events::stream_write write{events::stream_of(node->node->id),
                             x->who.tenant.str(),
                             node->version,
                             {}};
  auto after = *node;
  for (const auto& e : decided) {
    write.events.push_back(events::node::encode(e));
    after = evolve(std::move(after), e);
  }
  auto b = x->new_batch();
  b.writes.push_back(std::move(write));
  append(
      x, std::move(b),
      [x, after = std::move(after)](std::uint64_t position) {
        x->answer(answer_text(*x, after, position));
      },
      [x, asked] { decide_on_node(x, asked); });
}

void decide_on_node(exchange_ptr x, const command& asked) {
  auto id = read_node(x->in());
  if (!id)
    return x->refuse(id.error());
  x->streams->node(
      id.value(), then(x, [x, asked](const shared_state<state>& node) {
        // What another tenant owns answers as what does not exist.
        if (!node->node || node->node->tenant != x->who.tenant)
          return x->refuse(errc::not_found, "No such node");
        auto decided = asked(*node, x->streams->now());
        if (!decided)
          return refuse_confirmed(x, pinned(*x, *node), decided.error(),
                                  [x, asked] { decide_on_node(x, asked); });
        if (decided.value().empty())
          return answer_unchanged(x, asked, node);
        append_decided(x, asked, node, decided.value());
      }));
}

/// The same for a command of the node's stream that takes an operator's words.
template <class Command>
void decide_with_reason(exchange_ptr x) {
  auto reason = x->in().optional_text("reason");
  if (!reason)
    return x->refuse(reason.error());
  decide_on_node(
      x, [words = reason.value().value_or("")](const state& s, time_point now) {
        return decide(s, Command{now, words});
      });
}

}  // namespace

void nodes_adopt(exchange_ptr x) {
  decide_on_node(x, [](const state& s, time_point now) {
    return decide(s, events::node::adopt{now});
  });
}

void nodes_cordon(exchange_ptr x) {
  decide_with_reason<events::node::cordon>(x);
}

void nodes_delete(exchange_ptr x) {
  decide_with_reason<events::node::retire>(x);
}

void nodes_revoke_identity(exchange_ptr x) {
  decide_with_reason<events::node::revoke_identity>(x);
}

}  // namespace bc::actors::api
