#pragma once

#include "bench/measure.hpp"

#include <string>

/// What `bench` can measure, one function for each section.
namespace bc::bench {

struct settings {
  std::string postgres;  // URL; empty: the sections that need it are left out
  std::string kafka;     // bootstrap.servers, likewise
  std::string self;      // this program, which is also the load's client
  double scale = 1;      // of every count
  [[nodiscard]] std::size_t scaled(std::size_t count) const {
    auto n = static_cast<std::size_t>(static_cast<double>(count) * scale);
    return n < 16 ? 16 : n;
  }
};

/// CPU seconds of one join's cryptography, without and with a handshake.
struct bound {
  double join = 0;
  double handshake = 0;
};
[[nodiscard]] bound measure_crypto(const settings& s, report& out);

/// What a machine says of itself, made into its hardware key.
void measure_hardware(const settings& s, const bound& b, report& out);

/// Whole joins over TLS, on SQLite and on Postgres, beside the bound.
void measure_joins(const settings& s, const bound& b, report& out);

/// A refused join and garbage beside an admitted one.
void measure_refusals(const settings& s, report& out);

/// What relaying through a gateway adds to a join.
void measure_relay(const settings& s, const bound& b, report& out);

/// One hot token and many, beside the design that locks the token's row.
void measure_hot_token(const settings& s, report& out);

/// Appends at full groups and replay, beside bare inserts and selects.
void measure_journal(const settings& s, report& out);

/// The tailing projector beside bare inserts, and its lag.
void measure_projections(const settings& s, report& out);

/// The publisher beside a bare produce loop.
void measure_publisher(const settings& s, report& out);

/// Lists of 200 from a million tokens, beside the same rows by primary key.
void measure_lists(const settings& s, report& out);

/// How soon `dev` is ready on an existing store; how large `bcd` is. Both
/// programs are looked for beside this one.
void measure_programs(const settings& s, report& out);

/// The load of measure_joins, in a process of its own: posts each line of the
/// file on a connection of its own, from so many threads, `rate` a second (0:
/// as many as pass); prints the latencies.
[[nodiscard]] int run_client(const std::string& url, const std::string& ca_file,
                             const std::string& bodies, std::size_t threads,
                             double rate);

}  // namespace bc::bench
