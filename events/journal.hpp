#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/refused_join.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The journal: what was decided, in order, for ever (spec: DESIGN 3 and 4).
namespace bc::events {

/// "<kind>:<id>", for example "join_token:jt_…" (events/streams.hpp).
using stream_id = std::string;

/// A claim is taken by one stream, until released or expired. Names:
/// "hw:<key>", "ek:<hash>", "spki:<sha256>", "serial:<hex>",
/// "answer:<subject>:<csr>", "proof:<sha256>", "shared:<node>:<sha256>",
/// "request:<site>:<subject>", "decided:<site>:<subject>:<csr>",
/// "place:<site>:<number>", "name:<kind>:<tenant>:<name>".
struct claim_move {
  enum class kind { take, release };
  kind what;
  std::string claim;
  std::optional<time_point> expires_at;  // take: nullopt = until released
  bool operator==(const claim_move&) const = default;
};

/// A budget is a count that is opened once, spent and closed.
struct budget_move {
  enum class kind { open, spend, close };
  kind what;
  std::string budget;
  std::int64_t amount = 0;
  bool operator==(const budget_move&) const = default;
};

/// What an event does to claims and budgets; a function of the event alone
/// (catalog.hpp), so that both are folds of the journal.
struct moves {
  std::vector<claim_move> claims;
  std::vector<budget_move> budgets;
  /// From this event on the journal has another incarnation.
  std::optional<incarnation_id> incarnation = std::nullopt;
  bool operator==(const moves&) const = default;
};

struct envelope;
/// The moves of a stored event (catalog.hpp: moves_of).
using effect_function = std::function<result<moves>(const envelope&)>;

/// One event to be appended.
struct event_write {
  std::string type;  // frozen wire name
  int type_version = 1;
  std::string data;      // JSON object the world may see
  std::string internal;  // JSON object that never leaves
  moves effect;
};

/// Events for one stream, or (without events) a precondition on it alone. All
/// of a batch's expected versions are those before the batch.
struct stream_write {
  stream_id stream;
  std::string tenant;  // owner of the events; empty without events
  /// The version the stream must have (0: no event yet); nullopt: any.
  std::optional<std::uint64_t> expected_version;
  std::vector<event_write> events;
};

struct budget_need {
  std::string budget;
  std::int64_t amount = 1;
};

struct claim_need {
  std::string claim;
  stream_id holder;  // free or held by this stream; empty: must be free
};

/// The refusal limiter's precondition: the row is at this version, and of the
/// stream's last `limit` events the oldest is at least `window` old.
struct limiter_need {
  stream_id stream;
  std::uint64_t row_version = 0;
  int limit = 60;
  seconds window{60};
};

/// One atomic unit. Needs that follow from its events' moves (a claim taken is
/// free or this stream's own; a budget spent is open with enough left; a
/// budget opened is new) are judged without being repeated here. Judged in
/// this order, the first that fails comes back: answers free, streams,
/// budgets, claims, limiter, valid_until. A release by a stream that does not
/// hold the claim, and a close of a budget that is closed or was never opened,
/// change nothing. A batch with events that is in the journal already is
/// answered with them and not written again.
struct batch {
  batch_id id;
  std::string actor;        // principal, "machine" or "system"
  std::string correlation;  // request id
  std::vector<std::string> answers_free;
  std::vector<stream_write> writes;
  std::vector<budget_need> budgets;
  std::vector<claim_need> claims;
  std::optional<limiter_need> limiter;
  /// The decision is void at or after this time, by the store's clock read
  /// after the lock.
  std::optional<time_point> valid_until;

  [[nodiscard]] bool has_events() const;
};

/// One event as it stands in the journal.
struct envelope {
  std::uint64_t position = 0;  // dense, from 1, in commit order
  std::uint64_t commit = 0;
  stream_id stream;
  std::uint64_t version = 0;  // from 1 in its stream
  std::string type;
  int type_version = 1;
  std::string tenant;
  time_point time;  // the store's clock at the append
  std::string actor;
  std::string correlation;
  std::string data;
  std::string internal;
  std::string batch;
  std::string hash;  // hex, row_hash() of the rest
};

/// SHA-256, hex, over every field with H(data) and H(internal) in place of
/// the two texts, so that an export without `internal` still verifies.
[[nodiscard]] std::string row_hash(const envelope& e);
/// The same when only H(internal) is known (32 bytes).
[[nodiscard]] std::string row_hash(const envelope& e, byte_view internal);
/// H(previous link, the commit's row hashes), hex.
[[nodiscard]] std::string commit_link(std::string_view previous,
                                      std::span<const std::string> row_hashes);

struct claim_holder {
  stream_id stream;
  std::uint64_t position = 0;  // of the event that took it
  std::optional<time_point> expires_at;
};

/// A batch that is in the journal (or whose preconditions alone held).
struct appended {
  std::vector<envelope> events;  // as written, in order; empty: nothing written
  time_point time;               // the store's clock
};

enum class unmet { answer, version, budget, claim, limiter, expired };

/// A batch of which nothing was written.
struct rejected {
  unmet why;
  std::string subject;  // the claim, stream or budget that failed
  std::optional<claim_holder> holder;  // for answer and claim
  std::optional<std::uint64_t>
      version;  // version: the stream's; limiter: row's
  time_point time;
};

using append_outcome = std::variant<appended, rejected>;

struct head_row {
  std::uint64_t position = 0;
  std::uint64_t commit = 0;
  std::string link;  // last commit link
  incarnation_id incarnation;
};

/// A refusal limiter's row; version 0 when there is none yet.
struct limiter_row {
  std::uint64_t version = 0;
  std::uint64_t dropped = 0;
  /// Times of the stream's newest events, newest first, at most 60.
  std::vector<time_point> recent;
};

struct snapshot {
  std::uint64_t version = 0;  // of the stream at the fold
  int fold_version = 0;
  std::string state;  // JSON
};

/// The head of the journal at one commit, signed with the journal key (purpose
/// `journal-checkpoint`): kept in the store, in Kafka and in the log, so that a
/// journal whose tail was rewritten is found out (checkpoint.hpp).
struct checkpoint {
  std::uint64_t position = 0;
  std::uint64_t commit = 0;
  std::string link;
  incarnation_id incarnation;
  time_point time;
  std::string signature;  // hex
  bool operator==(const checkpoint&) const = default;
};

class stream_fold;
/// An empty fold for a stream of this kind, to compare its snapshot with; null
/// for a kind that is not known (stream_fold.hpp: make_stream_fold).
using fold_function =
    std::function<std::unique_ptr<stream_fold>(std::string_view stream)>;

/// What verify() compares with; an empty function skips its part.
struct verify_request {
  effect_function effects = nullptr;
  fold_function folds = nullptr;
  /// True when the checkpoint's signature is by the journal's key.
  std::function<bool(const checkpoint&)> is_signed = nullptr;
  /// From outside the store (Kafka, the log, an export).
  std::vector<checkpoint> outside = {};
};

/// Who does the background duties.
struct lease {
  std::string holder;
  std::uint64_t epoch = 0;
  time_point expires_at;
};

/// A store of the journal. Thread-safe; every call may block. A fault is
/// infrastructure: UNAVAILABLE (also a full disk), or INTERNAL for a store
/// that is damaged; never a decision.
class journal {
 public:
  virtual ~journal() = default;

  /// One group in one transaction, judged in order, each batch seeing those
  /// before it; a batch that fails, fails alone. The answer has one outcome
  /// for each batch. A fault means no answer: some batch's outcome may be
  /// unknown, and outcome() tells.
  [[nodiscard]] virtual result<std::vector<append_outcome>> append(
      std::span<const batch> group) = 0;

  /// The events of a batch that is in the journal, else nullopt; asked behind
  /// the same lock an append takes.
  [[nodiscard]] virtual result<std::optional<appended>> outcome(
      const batch_id& id) = 0;

  [[nodiscard]] virtual result<std::optional<claim_holder>> holder(
      std::string_view claim) = 0;

  /// Events of one stream after `after_version`, in order, at most `limit`.
  [[nodiscard]] virtual result<std::vector<envelope>> read_stream(
      std::string_view stream, std::uint64_t after_version,
      std::size_t limit) = 0;

  /// Events after `after_position`, in order, at most `limit`.
  [[nodiscard]] virtual result<std::vector<envelope>> read_all(
      std::uint64_t after_position, std::size_t limit) = 0;

  [[nodiscard]] virtual result<head_row> head() = 0;

  [[nodiscard]] virtual result<limiter_row> read_limiter(
      std::string_view stream) = 0;
  /// Adds to the row's dropped count, for the next event to carry.
  [[nodiscard]] virtual result<void> add_dropped(std::string_view stream,
                                                 std::uint64_t count) = 0;

  /// Adds to the index of recent refusals, which is beside the journal: rows
  /// of one owner, CSR, reason and token are one, their `times` added up. The
  /// same batch again changes nothing. Of each owner and reason the
  /// `refusals_kept` that were refused last stay.
  [[nodiscard]] virtual result<void> keep_refusals(
      const batch_id& id, std::span<const refused_join> refused) = 0;
  /// This owner's whose CSR has this SHA-256, or one that begins so, newest
  /// first, at most `limit`.
  [[nodiscard]] virtual result<std::vector<refused_join>> find_refusals(
      std::string_view owner, std::string_view csr_sha256,
      std::size_t limit) = 0;

  [[nodiscard]] virtual result<std::optional<snapshot>> load_snapshot(
      std::string_view stream) = 0;
  [[nodiscard]] virtual result<void> save_snapshot(std::string_view stream,
                                                   const snapshot& s) = 0;

  /// Takes or extends the lease; nullopt while another holder's is unexpired.
  /// With a ttl of 0 the holder gives it back.
  [[nodiscard]] virtual result<std::optional<lease>> acquire_lease(
      std::string_view holder, seconds ttl) = 0;

  /// Written only while the lease has this epoch, else INVALID_STATE.
  [[nodiscard]] virtual result<void> add_checkpoint(const checkpoint& c,
                                                    std::uint64_t epoch) = 0;
  /// Checkpoints after this position, in order, at most `limit`.
  [[nodiscard]] virtual result<std::vector<checkpoint>> read_checkpoints(
      std::uint64_t after_position, std::size_t limit) = 0;

  /// Checks rows, commits and links, claims and budgets against the moves of
  /// the events, snapshots against their streams, and the checkpoints of the
  /// store and from outside; INTERNAL, the message naming the first row that
  /// is altered, missing, inserted or out of order.
  [[nodiscard]] virtual result<void> verify(const verify_request& against) = 0;

  /// The store's clock, or this process's corrected by it.
  [[nodiscard]] virtual time_point now() const = 0;
  /// True when other processes may append too: then what this process knows
  /// of a stream can be behind the journal.
  [[nodiscard]] virtual bool is_shared() const { return false; }
};

}  // namespace bc::events
