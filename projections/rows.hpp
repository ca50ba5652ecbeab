#pragma once

#include "base/clock.hpp"
#include "events/sql.hpp"
#include "projections/queries.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// The rows of the read models as the queries answer them, whose texts
/// (query_texts.hpp) name the columns in this order.
namespace bc::projections {

/// Takes a row's columns one after the other.
class row_reader {
 public:
  explicit row_reader(const sql::statement& s) : s_(s) {}

  std::string text() { return s_.text(at_++); }
  std::int64_t number() { return s_.number(at_++); }
  bool flag() { return number() != 0; }
  time_point time() { return from_millis(number()); }
  std::optional<std::string> optional_text() {
    return is_null() ? skip<std::string>() : std::optional{text()};
  }
  std::optional<std::int64_t> optional_number() {
    return is_null() ? skip<std::int64_t>() : std::optional{number()};
  }
  std::optional<time_point> optional_time() {
    return is_null() ? skip<time_point>() : std::optional{time()};
  }
  [[nodiscard]] bool is_null() const { return s_.is_null(at_); }

 private:
  template <class T>
  std::optional<T> skip() {
    ++at_;
    return std::nullopt;
  }

  const sql::statement& s_;
  int at_ = 0;
};

// Members of a braced list are read from left to right.
[[nodiscard]] inline tenant_row read_tenant(row_reader r) {
  return {r.text(), r.text(), r.flag(), r.time()};
}

[[nodiscard]] inline site_row read_site(row_reader r) {
  return {r.text(), r.text(),          r.text(),         r.text(),
          r.time(), r.optional_text(), r.optional_time()};
}

[[nodiscard]] inline pool_row read_pool(row_reader r) {
  return {r.text(), r.text(), r.text(), r.text(),
          r.text(), r.time(), r.text(), r.optional_time()};
}

[[nodiscard]] inline join_token_row read_token(row_reader r) {
  return {r.text(),
          r.text(),
          r.text(),
          r.text(),
          r.text(),
          r.number(),
          r.number(),
          {r.optional_text(), r.optional_text(), r.optional_text(),
           r.optional_text()},
          r.flag(),
          r.optional_text(),
          r.time(),
          r.time(),
          r.optional_time(),
          r.optional_text()};
}

[[nodiscard]] inline join_request_row read_request(row_reader r) {
  return {r.text(),          r.text(),
          r.text(),          r.text(),
          r.text(),          r.text(),
          r.text(),          r.text(),
          r.text(),          r.flag(),
          r.optional_text(), r.optional_text(),
          r.optional_text(), r.optional_number(),
          r.optional_text(), r.optional_text(),
          r.optional_text(), r.optional_text(),
          r.optional_text(), r.time(),
          r.optional_time(), r.time(),
          r.flag(),          r.optional_time(),
          r.optional_text(), r.optional_text(),
          r.optional_time(), r.optional_time(),
          r.optional_text()};
}

[[nodiscard]] inline certificate_row read_certificate(row_reader& r) {
  return {r.text(), r.text(), r.text(),          r.text(),         r.number(),
          r.time(), r.time(), r.optional_time(), r.optional_text()};
}

/// All its columns are null where there was no session.
[[nodiscard]] inline std::optional<session_row> read_session(row_reader& r) {
  auto id = r.optional_text(), gateway = r.optional_text(),
       address = r.optional_text(), version = r.optional_text();
  auto connected = r.optional_time(), disconnected = r.optional_time();
  auto reason = r.optional_text();
  if (!id || !connected)
    return std::nullopt;
  return session_row{*id,
                     gateway.value_or(""),
                     address.value_or(""),
                     version.value_or(""),
                     *connected,
                     disconnected,
                     reason};
}

[[nodiscard]] inline node_row read_node(row_reader r) {
  node_row n{r.text(),          r.text(),          r.text(),
             r.text(),          r.text(),          r.text(),
             r.text(),          r.text(),          r.text(),
             r.text(),          r.text(),          r.flag(),
             r.flag(),          r.number(),        r.time(),
             r.optional_time(), r.optional_time(), r.optional_text(),
             r.optional_time(), r.optional_time(), std::nullopt};
  n.acceptance_started_at = r.optional_time();
  n.acceptance_failed_at = r.optional_time();
  n.failed_checks = r.optional_text();
  n.hardware_changed_at = r.optional_time();
  n.hardware_taken_at = r.optional_time();
  n.changed_identifiers = r.optional_text();
  n.ek_hash = r.optional_text();
  n.session = read_session(r);
  if (!r.is_null())
    n.certificate = read_certificate(r);
  return n;
}

[[nodiscard]] inline command_row read_command(row_reader r) {
  command_row c;
  c.sequence = r.text();
  c.id = r.text();
  c.tenant = r.text();
  c.node = r.text();
  c.kind = r.text();
  c.payload = r.text();
  c.enqueued_at = r.time();
  c.expires_at = r.time();
  c.completed_at = r.optional_time();
  if (c.completed_at)
    c.succeeded = r.flag();
  else
    static_cast<void>(r.optional_text());
  c.output = r.optional_text();
  return c;
}

[[nodiscard]] inline joined_request_row read_joined_request(row_reader r) {
  return {r.text(), r.text(), r.text(), r.optional_time()};
}

[[nodiscard]] inline revocation_row read_revocation(row_reader r) {
  return {sql::of_sql(r.number()), r.time()};
}

[[nodiscard]] inline revoked_row read_revoked(row_reader r) {
  return {r.text(), r.time(), r.text(), r.text()};
}

[[nodiscard]] inline credential_row read_credential(row_reader r) {
  return {r.text(), r.text(), r.text(), r.text(), r.time(), r.optional_time()};
}

[[nodiscard]] inline audit_row read_audit(row_reader r) {
  return {r.text(),          sql::of_sql(r.number()),
          r.text(),          r.time(),
          r.text(),          r.optional_text(),
          r.optional_text(), r.text(),
          r.text(),          r.text(),
          r.text(),          r.text()};
}

}  // namespace bc::projections
