#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// When the certificates end that a process goes by: told in the log and by
/// /metrics, so that none ends unseen.
namespace bc::serve {

struct dated_certificate {
  std::string name;  // a word, as the metric has it
  time_point not_after;
  seconds early;  // so long before, the log warns
};

/// Of the first certificate in the PEM; INVALID_CONFIG naming it.
[[nodiscard]] result<dated_certificate> dated(std::string name,
                                              const std::string& pem);

/// Adds one; what cannot be read is told in the log, since TLS may take it.
void add_dated(std::vector<dated_certificate>& to, std::string name,
               const std::string& pem);

/// Of the certificate authorities in the bundle.
[[nodiscard]] result<std::vector<dated_certificate>> dated(
    const pki::key_bundle& keys);

/// A line for each that has ended, or soon will.
[[nodiscard]] std::vector<std::string> expiry_warnings(
    std::span<const dated_certificate> all, time_point now);

/// Prometheus text; empty for none.
[[nodiscard]] std::string expiry_metrics(
    std::span<const dated_certificate> all);

/// Warns at once and then once a day, on a thread of its own.
class expiry_watch {
 public:
  explicit expiry_watch(std::vector<dated_certificate> all);
  expiry_watch(const expiry_watch&) = delete;
  expiry_watch& operator=(const expiry_watch&) = delete;
  ~expiry_watch();

  /// This one was replaced by the first certificate in the PEM. Any thread.
  void renewed(std::string_view name, const std::string& pem);
  [[nodiscard]] std::string metrics() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bc::serve
