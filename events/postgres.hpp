#pragma once

#include "base/clock.hpp"
#include "events/postgres_call.hpp"
#include "events/sql.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The SQL connection layer over libpq.
namespace bc::postgres {

/// `bounded`: the server gives a statement up after 8 s, a wait for a lock
/// after 5 s, an idle transaction after 10 s, unless the URL's own `options`
/// say otherwise; and the server itself is given up
/// (connection::allow_silence). `endless`: for migrations and long checks.
enum class patience { bounded, endless };

/// What a server may say nothing for before its connection is given up.
inline constexpr milliseconds usual_silence{10'000};
/// What one that goes on talking may take for a request: a slow network may
/// take long for what is large.
inline constexpr milliseconds usual_request{30'000};

/// Connects (the limits above, keepalives and TCP user timeout set on both
/// sides; session time zone UTC). UNAVAILABLE when the server cannot be reached
/// or is read-only (a standby, unless the URL has `target_session_attrs=any`),
/// INVALID_CONFIG for a URL libpq does not understand or a login that is
/// refused. A connection on which an error of class 08, 57P or 25006 came, or
/// whose server was given up, is dead: every later call answers UNAVAILABLE,
/// and is_alive() is false. Other faults: UNAVAILABLE for what may pass
/// (serialisation, deadlock, lock or statement timeout, full disk),
/// INVALID_CONFIG for a privilege the user lacks, else INTERNAL; SQLSTATE and
/// the server's words are in `detail` alone.
class connection : public sql::connection {
 public:
  [[nodiscard]] static result<std::unique_ptr<connection>> open(
      const std::string& url, patience p = patience::bounded);
  [[nodiscard]] virtual bool is_alive() const = 0;
  /// Runs the calls in order in one round trip, an answer for each. The first
  /// that fails is the fault, and those after it do not run. Outside of a
  /// transaction the calls are one.
  [[nodiscard]] virtual result<std::vector<rows>> run(
      std::span<const call> calls) = 0;
  /// A server that says nothing for so long (at first usual_silence), or is not
  /// done with a request in `whole`, is given up.
  virtual void allow_silence(milliseconds most,
                             milliseconds whole = usual_request) = 0;
  /// Dead from here on.
  virtual void abandon() = 0;
  /// SQLSTATE of the last fault; empty when the connection broke.
  [[nodiscard]] virtual std::string_view state() const = 0;
};

/// Round trips of all connections of this process so far.
[[nodiscard]] std::uint64_t round_trips() noexcept;

}  // namespace bc::postgres
