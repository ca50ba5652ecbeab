#pragma once

#include <string_view>

namespace bc {

/// Places where a test may break the program. A closed list: a name that is
/// not here cannot be armed.
#define BC_FAULT_POINTS(X)                              \
  X(store_before_append, "store.before-append")         \
  X(store_before_commit, "store.before-commit")         \
  X(store_after_commit, "store.after-commit")           \
  X(join_before_append, "join.before-append")           \
  X(join_after_append, "join.after-append")             \
  X(join_before_answer, "join.before-answer")           \
  X(rejoin_before_append, "rejoin.before-append")       \
  X(rejoin_after_append, "rejoin.after-append")         \
  X(rejoin_before_answer, "rejoin.before-answer")       \
  X(renew_before_append, "renew.before-append")         \
  X(renew_after_append, "renew.after-append")           \
  X(renew_before_answer, "renew.before-answer")         \
  X(projector_before_commit, "projector.before-commit") \
  X(projector_after_commit, "projector.after-commit")   \
  X(daemon_before_identity, "daemon.before-identity")   \
  X(daemon_before_next_key, "daemon.before-next-key")   \
  X(daemon_after_next_key, "daemon.after-next-key")     \
  X(daemon_before_new_key, "daemon.before-new-key")     \
  X(daemon_after_new_key, "daemon.after-new-key")       \
  X(daemon_half_append, "daemon.half-append")           \
  X(daemon_command_begun, "daemon.command-begun")       \
  X(daemon_command_ran, "daemon.command-ran")           \
  X(publisher_after_produce, "publisher.after-produce") \
  X(publisher_before_commit, "publisher.before-commit") \
  X(publisher_commit_sent, "publisher.commit-sent")     \
  X(publisher_after_commit, "publisher.after-commit")

enum class fault_point {
#define BC_X(name, text) name,
  BC_FAULT_POINTS(BC_X)
#undef BC_X
};

/// What an armed point does: `error` makes the code behave as if the step
/// failed, `exit` ends the process at once (a power cut, as far as we can).
enum class fault_action { none, error, exit };

/// What the point does now, counting down an armed one; `exit` does not
/// return. Always `none` in a build without BC_FAULT_POINTS_ENABLED.
[[nodiscard]] fault_action hit(fault_point point) noexcept;

/// Arms a point to act on its nth hit from now (1 = the next one), once.
void arm(fault_point point, fault_action action, int nth = 1) noexcept;
void disarm_all() noexcept;

/// Arms the points listed in the environment variable BC_FAULTS
/// ("join.after-append=exit,store.before-commit=error@3"). False, naming the
/// first bad entry on standard error, when the text names an unknown point.
[[nodiscard]] bool arm_from_environment() noexcept;

}  // namespace bc
