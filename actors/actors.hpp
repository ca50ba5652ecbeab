#pragma once

#include "actors/front_door.hpp"
#include "actors/joining/join_flow.hpp"
#include "actors/messages.hpp"

#include <caf/fwd.hpp>
#include <caf/replies_to.hpp>

/// Every actor's interface: one line for each message it takes.
namespace bc::actors {

/// The state of every stream that is in use, found by its name.
using registry_actor =
    caf::typed_actor<caf::replies_to<get_state>::with<answer<any_state>>,
                     caf::reacts_to<committed>,  // each commit, before its
                                                 // replies
                     caf::reacts_to<stale>, caf::reacts_to<tailed>,
                     caf::reacts_to<sweep_adopting>,  // at start-up
                     caf::reacts_to<tidy>,
                     caf::replies_to<count_live>::with<answer<std::size_t>>,
                     caf::replies_to<quiesce>::with<answer<void>>>;

/// One stream: its events folded, at the journal's version.
using stream_actor =
    caf::typed_actor<caf::replies_to<get_state>::with<answer<any_state>>,
                     caf::reacts_to<committed_event>,
                     caf::replies_to<settle>::with<answer<void>>,
                     caf::reacts_to<read_again>, caf::reacts_to<try_again>,
                     caf::reacts_to<passivate>>;

/// The only one to write to the journal.
using writer_actor = caf::typed_actor<
    caf::reacts_to<publish_to<registry_actor>>,
    caf::replies_to<append_batch>::with<answer<events::append_outcome>>,
    caf::replies_to<read_limiter>::with<answer<events::limiter_row>>,
    caf::replies_to<add_dropped>::with<answer<events::limiter_row>>,
    caf::reacts_to<flush_group>, caf::reacts_to<catch_up>,
    caf::reacts_to<poll_store>>;

/// Whatever blocks but an append, on a thread of its own.
using reader_actor = caf::typed_actor<
    caf::replies_to<read_page>::with<answer<std::vector<events::envelope>>>,
    caf::replies_to<find_snapshot>::with<
        answer<std::optional<events::snapshot>>>,
    caf::replies_to<keep_snapshot>::with<answer<void>>,
    caf::replies_to<find_holder>::with<
        answer<std::optional<events::claim_holder>>>,
    caf::replies_to<keep_refusals>::with<answer<void>>,
    caf::replies_to<find_refusals>::with<
        answer<std::vector<events::refused_join>>>,
    caf::replies_to<find_event>::with<answer<std::optional<events::envelope>>>,
    caf::replies_to<read_events>::with<answer<std::vector<events::envelope>>>,
    caf::replies_to<read_head>::with<answer<events::head_row>>,
    caf::replies_to<run_query>::with<answer<std::string>>,
    caf::replies_to<find_adopting>::with<answer<adopting_page>>>;

/// Refused joins become events, at most so many a minute; and rows of the index
/// of recent ones (one actor for each).
using refusal_actor =
    caf::typed_actor<caf::reacts_to<refusal_report>, caf::reacts_to<tick>,
                     caf::replies_to<flush_refusals>::with<answer<void>>>;

/// A call on its way, with when it came.
struct join_work {
  daemon_call call;
  instant arrival;
  std::shared_ptr<front_door<daemon_reply>::ticket> ticket;
};
/// An answer that was held back, due now.
struct release_answer {
  daemon_reply reply;
  std::shared_ptr<front_door<daemon_reply>::ticket> ticket;
};
/// A gateway's question about a session.
struct session_work {
  daemon_call call;
  std::shared_ptr<front_door<daemon_reply>::ticket> ticket;
};
struct api_work {
  api_call call;
  std::shared_ptr<front_door<api_reply>::ticket> ticket;
};

using join_service_actor =
    caf::typed_actor<caf::reacts_to<join_work>, caf::reacts_to<release_answer>,
                     caf::reacts_to<continuation>>;

/// Tells of hardware that several nodes have, each tick anew.
using hardware_watch_actor =
    caf::typed_actor<caf::reacts_to<tick>, caf::reacts_to<continuation>>;

/// Warns of certificates that are not renewed, each tick anew.
using certificate_watch_actor =
    caf::typed_actor<caf::reacts_to<tick>, caf::reacts_to<continuation>>;

/// Keeps who is heard of, and gives up the sessions of gateways that are not,
/// each tick anew.
using gateway_watch_actor =
    caf::typed_actor<caf::reacts_to<tick>, caf::reacts_to<continuation>>;

using session_service_actor = caf::typed_actor<caf::reacts_to<session_work>,
                                               caf::reacts_to<continuation>>;

using api_service_actor =
    caf::typed_actor<caf::reacts_to<api_work>, caf::reacts_to<continuation>>;

}  // namespace bc::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::refusal_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::join_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::release_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::session_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bc::actors::api_work)
