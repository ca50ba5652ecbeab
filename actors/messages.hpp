#pragma once

#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"
#include "events/stream_fold.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

/// What the actors of one process say to each other. None of it is ever
/// serialised: messages stay in memory.
namespace bc::actors {

/// The reply of every request: its value, or the fault.
template <class T>
struct answer {
  result<T> value;
};

/// Keeps a place behind a door (gate.hpp) until the last copy is gone.
using pass = std::shared_ptr<void>;

/// The events of one commit, in order.
using commit_events = std::shared_ptr<const std::vector<events::envelope>>;

/// The state of a stream, by kind.
using any_state = events::stream_state;

/// Of the actors' own clock: monotonic, virtual in tests.
using instant = std::chrono::steady_clock::time_point;

// To the journal writer.

struct append_batch {
  events::batch what;
  pass admitted;  // null: a batch of the server's own, never turned away
  std::optional<instant> asked = std::nullopt;  // nullopt: when it arrives
};
struct read_limiter {
  std::string stream;
};
/// Adds to the limiter row's dropped count; answers the row after it.
struct add_dropped {
  std::string stream;
  std::uint64_t count = 0;
};
/// The writer takes what waits as one group.
struct flush_group {};
/// The writer publishes what an unknown outcome left unpublished.
struct catch_up {};
/// The writer looks for what other processes wrote.
struct poll_store {};
/// Tells the writer who hears of commits; sent once, first.
template <class Registry>
struct publish_to {
  Registry registry;
};

// To the journal readers.

struct read_page {
  std::string stream;
  std::uint64_t after_version = 0;
  std::size_t limit = 0;
};
struct find_snapshot {
  std::string stream;
};
struct keep_snapshot {
  std::string stream;
  events::snapshot what;
};
struct find_holder {
  std::string claim;
};
/// Of the index of recent refusals.
struct keep_refusals {
  batch_id id;
  std::shared_ptr<const std::vector<events::refused_join>> refused;
};
struct find_refusals {
  std::string owner;
  std::string csr_sha256;
  std::size_t limit = 0;
};
struct find_event {
  std::uint64_t position = 0;
};
struct read_events {
  std::uint64_t after_position = 0;
  std::size_t limit = 0;
};
struct read_head {};
struct run_query {
  std::function<result<std::string>(projections::queries&)> read;
};
/// One page of the nodes that a crash left in `adopting`.
struct find_adopting {
  std::string tenants_after;  // tenants up to this one are done
  std::string tenant;         // the tenant being read, empty: the next one
  std::string nodes_after;
};
struct adopting_page {
  std::vector<events::stream_id> nodes;
  std::optional<find_adopting> next;
};

// To the registry and the streams' actors.

struct get_state {
  events::stream_id stream;
  bool fresh = false;  // read on first, whatever is known
};
/// A commit, from the writer to the registry.
struct committed {
  commit_events events;
  bool foreign = false;  // of another process
};
/// What this process knows of the stream (empty: of any) may be behind the
/// journal.
struct stale {
  events::stream_id stream;
};
/// Every commit up to this moment has been told.
struct tailed {
  instant as_of;
};
/// The registry lets go of what nobody used for a while.
struct tidy {};
/// How many streams are in memory.
struct count_live {};
/// One of its events, from the registry to its stream's actor.
struct committed_event {
  commit_events events;
  std::size_t index = 0;
};
/// Do what follows from the stream's state (a joined node is adopted).
struct settle {
  events::stream_id stream;
};
/// Answered once nothing that follows from a commit is outstanding.
struct quiesce {};
/// Quit as soon as nothing waits for an answer.
struct passivate {};
/// Read on before the next answer.
struct read_again {};
/// A later try of what failed.
struct try_again {};
/// Looks for nodes left in `adopting`, page by page.
struct sweep_adopting {
  find_adopting from;
};

// To the refusal actor and the index's (which also take refusal_report).

struct tick {};
/// Answered when every refusal is an event or in its limiter's row; by the
/// index, when it is in the store.
struct flush_refusals {};

// To the join service and the API service.

/// A function to run in the context of the actor it was sent to.
struct continuation {
  std::function<void()> run;
};

}  // namespace bc::actors

namespace caf {

template <class T>
struct allowed_unsafe_message_type<bc::actors::answer<T>> : std::true_type {};
template <class T>
struct allowed_unsafe_message_type<bc::actors::publish_to<T>> : std::true_type {
};

}  // namespace caf

#define BC_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::type)

BC_MESSAGE(append_batch)
BC_MESSAGE(read_limiter)
BC_MESSAGE(add_dropped)
BC_MESSAGE(flush_group)
BC_MESSAGE(catch_up)
BC_MESSAGE(poll_store)
BC_MESSAGE(read_page)
BC_MESSAGE(find_snapshot)
BC_MESSAGE(keep_snapshot)
BC_MESSAGE(find_holder)
BC_MESSAGE(keep_refusals)
BC_MESSAGE(find_refusals)
BC_MESSAGE(find_event)
BC_MESSAGE(read_events)
BC_MESSAGE(read_head)
BC_MESSAGE(run_query)
BC_MESSAGE(find_adopting)
BC_MESSAGE(get_state)
BC_MESSAGE(committed)
BC_MESSAGE(stale)
BC_MESSAGE(tailed)
BC_MESSAGE(tidy)
BC_MESSAGE(count_live)
BC_MESSAGE(read_again)
BC_MESSAGE(committed_event)
BC_MESSAGE(settle)
BC_MESSAGE(quiesce)
BC_MESSAGE(passivate)
BC_MESSAGE(try_again)
BC_MESSAGE(sweep_adopting)
BC_MESSAGE(tick)
BC_MESSAGE(flush_refusals)
BC_MESSAGE(continuation)

#undef BC_MESSAGE
