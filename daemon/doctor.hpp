#pragma once

#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/node_status.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// `bcd doctor`: looks at a machine from the outside, beside a running daemon,
/// changes nothing, and says what to do (CASES 69, 108).
namespace bc::daemon {

struct tpm_look;

enum class verdict { ok, warning, failed };
[[nodiscard]] std::string_view verdict_text(verdict v) noexcept;

struct finding {
  std::string check;  // "configuration", "identity", …
  verdict how = verdict::ok;
  std::string message;
  std::string advice = {};  // empty when there is nothing to do
};

struct patient {
  std::filesystem::path config_file;
  std::filesystem::path data_dir;  // empty: the configuration's
};

/// What the doctor asks of the world; a test replaces it.
struct doctor_tools {
  /// GET from the gateway, with the node's certificate or (null) without.
  std::function<exchange(const config&, std::string_view path,
                         const node_identity* me)>
      get;
  std::function<time_point()> now;
  /// The process that holds the data folder; nullopt: none.
  std::function<std::optional<int>(const std::filesystem::path& data_dir)>
      daemon;
  /// A look at the TPM, by the EK kind of identity.json (tpm_doctor.hpp).
  std::function<tpm_look(const config&, const std::string& recorded)> tpm;
};
/// The network, the machine's clock, /proc/locks.
[[nodiscard]] doctor_tools real_tools();

/// The checks, in this order: configuration, join-key, files, tpm, tpm-ek,
/// tpm-ak, tpm-helper, identity, certificate, gateway, clock, daemon, session,
/// renewal; of a site agent also boot-lease and dhcp-leases (site_doctor.hpp).
/// Those that cannot be made because of one before them are left out.
[[nodiscard]] std::vector<finding> examine(const patient& p,
                                           const doctor_tools& tools);

[[nodiscard]] bool any_failed(const std::vector<finding>& all);
/// {"ok":…,"checks":[{"check","status","message","advice"?}]}
[[nodiscard]] std::string to_json(const std::vector<finding>& all);
/// Lines for a person.
[[nodiscard]] std::string to_text(const std::vector<finding>& all);

}  // namespace bc::daemon
