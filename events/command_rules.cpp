#include "events/command_rules.hpp"

#include "events/command_output.hpp"
#include "events/node_inventory.hpp"
#include "events/node_sessions.hpp"
#include "pki/digest.hpp"

namespace bc::events {

namespace {

using node_events = std::vector<node::event>;

bool is_awaiting_acceptance(const node::state& s) {
  return s.node && s.current == node::status::adopting && s.node->acceptance &&
         s.acceptance_started_at;
}

// By the order of the node's stream: the clocks of the processes that heard the
// hello and enqueued the run say nothing of it.
bool is_from_before(const command::enqueued& run, const node::state& s) {
  return run.node_version ? *run.node_version < s.acceptance_started_version
                          : run.at < *s.acceptance_started_at;
}

result<node_events> accepted(const node::state& s, const command::enqueued& run,
                             const command::complete& outcome) {
  if (!is_awaiting_acceptance(s) || is_from_before(run, s))
    return node_events{};
  auto failed = failed_checks(run.payload, outcome.succeeded, outcome.output);
  if (!failed)
    return node_events{};
  return decide(s, node::acceptance_result{outcome.now, std::move(*failed)});
}

}  // namespace

result<void> check_enqueue(const node::state& s, std::string_view kind) {
  if (!s.node)
    return fail(errc::not_found, "No such node");
  if (s.current == node::status::retired)
    return fail(errc::invalid_state, "The node is retired");
  if (!s.certificates.empty() &&
      !allows_kind(s.certificates.back().cert.allowed_kinds, kind))
    return fail(errc::invalid_state,
                "The node's certificate does not allow commands of this kind");
  return ok();
}

std::optional<command_id> acceptance_id(const node::state& s, int round) {
  if (!is_awaiting_acceptance(s))
    return std::nullopt;
  pki::field_hash hash;
  hash.add(kind_acceptance)
      .add(s.node->id.str())
      .add(std::to_string(to_millis(*s.acceptance_started_at)))
      .add(std::to_string(round));
  return command_id::from_digest(std::move(hash).finish());
}

result<node_events> decide_outcome(const node::state& s,
                                   const command::enqueued& command,
                                   const command::complete& outcome,
                                   const std::optional<found_hardware>& found) {
  if (s.current == node::status::retired)
    return node_events{};
  if (command.kind == kind_acceptance)
    return accepted(s, command, outcome);
  if (command.kind == kind_inventory && outcome.succeeded && found)
    return decide(s, node::record_inventory{
                         outcome.now, found->key, found->trusted, found->taken,
                         found->changed_identifiers, found->identifiers});
  return node_events{};
}

}  // namespace bc::events
