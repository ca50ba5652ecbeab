#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/command_kind.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The stream of one command to one node (DESIGN 8). It is sent to the node at
/// least once, until it has an outcome or its time is up.
namespace bc::events::command {

/// From its making until its time is up, at most.
inline constexpr seconds longest_lifetime{86'400};

/// `node.command.enqueued`.
struct enqueued {
  command_id id;
  node_id node;
  tenant_id tenant;  // internal: the node's
  std::string kind;
  std::string payload;  // internal: a JSON object, as json::to_text() has it
  time_point at;
  time_point expires_at;
  /// Internal: of the node's stream when it was decided on. nullopt: an older
  /// program enqueued it.
  std::optional<std::uint64_t> node_version = std::nullopt;
  bool operator==(const enqueued&) const = default;
};
/// `node.command.completed`: what the node said became of it.
struct completed {
  command_id id;
  node_id node;
  bool succeeded = false;
  std::string output;  // internal: as the node sent it
  time_point at;
  bool operator==(const completed&) const = default;
};
using event = std::variant<enqueued, completed>;

struct state {
  std::uint64_t version = 0;
  std::optional<enqueued> command;  // empty: no such command
  std::optional<completed> outcome;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

enum class status { pending, succeeded, failed, expired };
[[nodiscard]] std::string_view status_text(status s) noexcept;
/// Of what is known at `now`. An outcome counts whenever it came.
[[nodiscard]] status status_of(std::optional<bool> succeeded,
                               time_point expires_at, time_point now);
/// The state must hold a command.
[[nodiscard]] status status_at(const state& s, time_point now);

/// A replay (the same id) with the same node, kind, payload and lifetime: no
/// events. With others: CONFLICT.
struct enqueue {
  enqueued what;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const enqueue& c);

/// The first outcome counts, also one that comes after the command's time; a
/// later one, whatever it says: no events. NOT_FOUND without a command, and for
/// a command of another node.
struct complete {
  time_point now;
  node_id node;
  bool succeeded = false;
  std::string output;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const complete& c);

}  // namespace bc::events::command
