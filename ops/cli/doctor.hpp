#pragma once

#include "base/clock.hpp"
#include "events/kafka/properties.hpp"
#include "ops/serve/expiry.hpp"

#include <memory>
#include <string>
#include <vector>

/// `better-compute doctor`: looks at a deployment from the outside, changes
/// nothing, and says what to do.
namespace bc::cli {

enum class verdict { ok, warning, failed, skipped };
[[nodiscard]] std::string_view verdict_text(verdict v);

struct finding {
  std::string check;  // "store", "keys", …
  verdict how = verdict::ok;
  std::string message;
  std::string advice;  // empty when there is nothing to do
};
using findings = std::vector<finding>;

/// What there is to look at; what is empty is skipped.
struct patient {
  std::string store_url;
  std::string secret_file;  // else BETTER_COMPUTE_SECRET
  std::string api_url;
  std::string ca_file;
  std::string gateway_url;     // https://HOST[:PORT]
  std::string serving_ca_pin;  // else from the keys in the store
  events::kafka::properties kafka;
  std::vector<std::string> topics;  // those it publishes to
};

/// The store: reachable and of this program's schema, its keys and their
/// certificates, its clock, who holds the lease, the read models. `keys` is
/// set when the secret opened them.
[[nodiscard]] findings examine_store(
    const patient& p, const clock& time,
    std::shared_ptr<const pki::key_bundle>& keys);

/// The API, the gateway by its pin, Kafka.
[[nodiscard]] findings examine_network(const patient& p, const clock& time);

/// How long until a certificate ends: failed when over, a warning when early.
[[nodiscard]] finding expiry_finding(const serve::dated_certificate& c,
                                     time_point now);

}  // namespace bc::cli
