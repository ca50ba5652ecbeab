#include "actors/journal_reader.hpp"

#include "actors/breaker.hpp"
#include "actors/guarded.hpp"
#include "events/streams.hpp"
#include "projections/queries.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <spdlog/spdlog.h>

namespace bc::actors {
namespace {

constexpr int sweep_limit = 500;

struct reader_state {
  explicit reader_state(reader_actor::pointer) {}
  static inline const char* name = "journal-reader";

  /// Runs what blocks.
  template <class T, class F>
  answer<T> run(F read) {
    const auto began = std::chrono::steady_clock::now();
    if (away.is_open(began))
      return {fail(errc::unavailable, "The journal cannot be read now; retry")};
    result<T> value = guarded([&]() -> result<T> { return read(); });
    if (!value && http_status(value.error().code) >= 500)
      spdlog::warn("journal read: {} {} {}", wire_text(value.error().code),
                   value.error().message, value.error().detail);
    if (!value && value.error().code == errc::unavailable)
      away.failed(began, std::chrono::steady_clock::now());
    return {std::move(value)};
  }

  breaker away;
};

result<adopting_page> adopting(projections::queries* queries,
                               const find_adopting& from) {
  adopting_page out;
  if (queries == nullptr)
    return out;
  auto at = from;
  if (at.tenant.empty()) {
    BC_TRY(tenants, queries->list_tenants(at.tenants_after, 1));
    if (tenants.items.empty())
      return out;
    at.tenant = tenants.items.front().id;
  }
  projections::node_filter which;
  which.tenant = at.tenant;
  which.status = events::node::status_text(events::node::status::adopting);
  BC_TRY(nodes, queries->list_nodes(which, at.nodes_after, sweep_limit));
  for (const auto& n : nodes.items) {
    BC_TRY(id, node_id::parse(n.id));
    out.nodes.push_back(events::stream_of(id));
  }
  out.next = nodes.next
                 ? find_adopting{at.tenants_after, at.tenant, *nodes.next}
                 : find_adopting{at.tenant, {}, {}};
  return out;
}

reader_actor::behavior_type journal_reader(
    reader_actor::stateful_pointer<reader_state> self, reader_options options) {
  auto* state = &self->state;
  auto* journal = options.journal;
  auto* queries = options.queries;
  return {
      [=](const read_page& m) {
        return state->run<std::vector<events::envelope>>([&] {
          return journal->read_stream(m.stream, m.after_version, m.limit);
        });
      },
      [=](const find_snapshot& m) {
        return state->run<std::optional<events::snapshot>>(
            [&] { return journal->load_snapshot(m.stream); });
      },
      [=](const keep_snapshot& m) {
        return state->run<void>(
            [&] { return journal->save_snapshot(m.stream, m.what); });
      },
      [=](const find_holder& m) {
        return state->run<std::optional<events::claim_holder>>(
            [&] { return journal->holder(m.claim); });
      },
      [=](const keep_refusals& m) {
        return state->run<void>(
            [&] { return journal->keep_refusals(m.id, *m.refused); });
      },
      [=](const find_refusals& m) {
        return state->run<std::vector<events::refused_join>>([&] {
          return journal->find_refusals(m.owner, m.csr_sha256, m.limit);
        });
      },
      [=](const find_event& m) {
        return state->run<std::optional<events::envelope>>(
            [&]() -> result<std::optional<events::envelope>> {
              if (m.position == 0)
                return std::nullopt;
              BC_TRY(found, journal->read_all(m.position - 1, 1));
              if (found.empty() || found.front().position != m.position)
                return std::nullopt;
              return std::move(found.front());
            });
      },
      [=](const read_events& m) {
        return state->run<std::vector<events::envelope>>(
            [&] { return journal->read_all(m.after_position, m.limit); });
      },
      [=](read_head) {
        return state->run<events::head_row>([&] { return journal->head(); });
      },
      [=](const run_query& m) {
        return state->run<std::string>([&]() -> result<std::string> {
          if (queries == nullptr)
            return fail(errc::unavailable, "There are no read models");
          return m.read(*queries);
        });
      },
      [=](const find_adopting& m) {
        return state->run<adopting_page>([&] { return adopting(queries, m); });
      },
  };
}

}  // namespace

reader_actor spawn_journal_reader(caf::actor_system& system,
                                  reader_options options) {
  if (options.thread == threading::detached)
    return system.spawn<caf::detached>(journal_reader, options);
  return system.spawn(journal_reader, options);
}

}  // namespace bc::actors
