#pragma once

#include "base/bytes.hpp"
#include "events/node.hpp"

#include <string>
#include <vector>

/// Deciding on a node's sessions, its acceptance and its certificate's end. All
/// pure; NOT_FOUND without a node, no events when there is nothing to change.
namespace bc::events::node {

/// The live certificate of the node's generation that has exactly these bytes;
/// null when the holder may not have a session: another's, an older
/// generation's, revoked, over, or of a retired node.
[[nodiscard]] const certificate* session_certificate(const state& s,
                                                     byte_view der,
                                                     time_point now);

/// The session that the node has now; null: none.
[[nodiscard]] const connected* live_session(const state& s);

/// A session begins. It takes over from one that lives: the newest wins. The
/// first since the join starts acceptance where the pool has checks, and the
/// `takeovers_in_window`th takeover in clone_window from another address or by
/// another certificate raises clone_suspected. The same session again changes
/// nothing. INVALID_STATE when retired.
struct connect {
  time_point now;
  std::string session;
  std::string gateway;
  std::string address;
  std::string version;
  std::string serial;  // of session_certificate()
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const connect& c);

/// One end of a line that is dropped without a word takes over from its own
/// session; two machines with one identity do so for ever (CASES 63, 68a).
inline constexpr std::size_t takeovers_in_window = 6;

/// A session is over. Of one that is not (or no more) the node's: nothing.
struct disconnect {
  time_point now;
  std::string session;
  session_end reason = session_end::closed;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const disconnect& c);

/// The checks of acceptance came to an end: all passed when `failed` is empty,
/// and the node is adopted. Of a node that is not adopting, whose acceptance
/// did not start, or that failed the same checks before: nothing. INVALID_STATE
/// when retired.
struct acceptance_result {
  time_point now;
  std::vector<std::string> failed;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const acceptance_result& c);

/// A certificate is nearly over when less than a quarter of its lifetime is
/// left, and at most 4 hours: by then it should have been renewed long ago.
[[nodiscard]] time_point warn_from(const certificate& c);

/// Tells of the node's newest certificate, once, from warn_from() on; nothing
/// of one that is revoked or of a retired node.
struct warn_of_expiry {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const warn_of_expiry& c);

namespace detail {
void apply(state& s, const connected& c);
void apply(state& s, const disconnected& d);
void apply(state& s, const acceptance_started& a);
void apply(state& s, const acceptance_failed& a);
void apply(state& s, const certificate_expiring& c);
}  // namespace detail

}  // namespace bc::events::node
