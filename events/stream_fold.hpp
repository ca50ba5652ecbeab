#pragma once

#include "events/boot_lease.hpp"
#include "events/command.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/journal.hpp"
#include "events/journal_stream.hpp"
#include "events/node.hpp"
#include "events/pki_bundle.hpp"
#include "events/refusal.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace bc::events {

/// The state of a stream, by kind. A stream without events is a state of
/// version 0.
using stream_state = std::variant<
    std::shared_ptr<const tenant::state>, std::shared_ptr<const site::state>,
    std::shared_ptr<const pool::state>,
    std::shared_ptr<const credential::state>,
    std::shared_ptr<const join_token::state>,
    std::shared_ptr<const join_request::state>,
    std::shared_ptr<const node::state>, std::shared_ptr<const command::state>,
    std::shared_ptr<const boot_lease::state>,
    std::shared_ptr<const refusal::state>,
    std::shared_ptr<const pki_bundle::state>,
    std::shared_ptr<const journal_log::state>>;

/// The state of one stream, built event by event, whatever its kind. Pure.
class stream_fold {
 public:
  virtual ~stream_fold() = default;

  [[nodiscard]] virtual std::uint64_t version() const = 0;
  /// As of now: later events do not change what was given out.
  [[nodiscard]] virtual stream_state state() const = 0;
  /// The event of version() + 1. INTERNAL for any other, and for an event
  /// that this version of the program does not know: such a stream must not
  /// be decided on.
  [[nodiscard]] virtual result<void> apply(const envelope& e) = 0;
  /// The state as a JSON object, for people (journal replay): secret hashes,
  /// certificates and stored answers only with `with_internal`.
  [[nodiscard]] virtual std::string state_json(bool with_internal) const = 0;
  /// The whole state, to be restored; nullopt for a kind without snapshots.
  [[nodiscard]] virtual std::optional<snapshot> to_snapshot() const = 0;
  /// False when the snapshot is of another fold version or does not parse: it
  /// is thrown away and the stream read from its start.
  [[nodiscard]] virtual bool restore(const snapshot& s) = 0;
};

/// An empty fold; null for a kind of stream that is not known.
[[nodiscard]] std::unique_ptr<stream_fold> make_stream_fold(
    std::string_view stream);

/// True for a kind of stream whose folds are kept as snapshots.
[[nodiscard]] bool has_snapshots(std::string_view stream);

/// The snapshot a store should hold for these events, from the first on.
[[nodiscard]] result<std::optional<snapshot>> snapshot_of(
    std::string_view stream, std::span<const envelope> events);

}  // namespace bc::events
