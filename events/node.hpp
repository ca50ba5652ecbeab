#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"
#include "events/journal.hpp"
#include "pki/certificate.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The stream of one node (spec: joining#node-certificates, DESIGN 8).
namespace bc::events::node {

struct certificate {
  std::string serial;       // hex
  std::string spki_sha256;  // hex
  pki::certificate_role role = pki::certificate_role::node;
  std::int64_t generation = 1;
  time_point not_before;
  time_point not_after;
  std::vector<std::string> statements;
  bytes der;               // internal
  std::string csr_sha256;  // hex; internal
  bool operator==(const certificate&) const = default;
};

/// `node.joined`: a node with its first certificate. `internal` also holds
/// the raw claims and the signed answer, for 10 minutes' worth of retries.
struct joined {
  node_id id;
  tenant_id tenant;
  site_id site;
  pool_id pool;
  std::string attestor;
  bool reclaim = false;
  std::string hardware_key;  // hex or empty
  bool hardware_key_trusted = false;
  std::string node_key = "unattested";  // or "tpm"
  std::string token;                    // token id
  certificate cert;
  time_point at;
  wire::claims claims;         // internal
  std::string answer_subject;  // internal: "<token id>" …
  std::string answer_body;     // internal
  bytes answer_signature;      // internal
};
/// `node.adopted`.
struct adopted {
  node_id id;
  time_point at;
  bool operator==(const adopted&) const = default;
};
using event = std::variant<joined, adopted>;

enum class status { adopting, adopted, cordoned, retired };
[[nodiscard]] std::string_view status_text(status s) noexcept;

struct state {
  std::uint64_t version = 0;
  std::optional<joined> node;  // the newest join
  status current = status::adopting;
  std::int64_t generation = 0;
  std::vector<certificate> certificates;  // of the current generation
};

[[nodiscard]] state evolve(state s, const event& e);

/// Moves of `joined`: takes hw:<key> when trusted (until released),
/// serial:<serial> and spki:<sha256> (until 8 days after notAfter), and
/// answer:<subject>:<csrSha256> for 10 minutes from `at`.
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

[[nodiscard]] std::string hardware_claim(std::string_view key);
[[nodiscard]] std::string answer_claim(std::string_view subject,
                                       std::string_view csr_sha256_hex);
[[nodiscard]] std::string spki_claim(std::string_view spki_sha256_hex);

/// A node in a pool without acceptance checks is adopted at once.
struct adopt {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s, const adopt& c);

}  // namespace bc::events::node
