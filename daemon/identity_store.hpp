#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "daemon/private_dir.hpp"
#include "pki/key.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// What a joined machine knows about itself; kept in identity.json.
struct identity {
  std::string node_id;
  std::string site;
  std::string trust_domain;
  std::string role;
  std::string gateway_url;
  std::vector<bytes> certificate_chain;     // DER, leaf first
  std::vector<bytes> command_signing_keys;  // DER SPKI
  time_point not_after;
};

/// A key and its request that wait for an answer.
struct pending_request {
  pki::private_key key;
  bytes csr;
  /// They were made by an earlier run whose answer never came.
  bool from_earlier_run = false;
};

/// identity.json and node.key in the data folder, and what comes before them.
class identity_store {
 public:
  [[nodiscard]] static result<identity_store> open(
      const std::filesystem::path& data_dir);

  /// nullopt unless identity.json is whole and its certificate is for the key
  /// in node.key: a damaged pair does not count as joined (CASES 177). An
  /// expired one does.
  [[nodiscard]] result<std::optional<identity>> load() const;

  /// The key and CSR of an attempt whose outcome is unknown, or new ones that
  /// are on disk before they are given out: a retry, also by a new process,
  /// presents the same CSR and so gets the stored answer (CASES 14).
  [[nodiscard]] result<pending_request> pending() const;
  void forget_pending() const noexcept;
  /// Whether the server may still hold an answer to the pending CSR.
  [[nodiscard]] bool pending_is_recent() const noexcept;
  /// The pending CSR was sent just now.
  void refresh_pending() const noexcept;

  /// Writes node.key, then identity.json, then forgets the pending pair.
  [[nodiscard]] result<void> keep(const pki::private_key& key,
                                  const identity& who) const;

  /// Renames the identity, what goes with it and what an unfinished join left
  /// to NAME.reset-TIME. The suffix, for example ".reset-20261130T120000Z", is
  /// one that no older file has, so no two sets mix; empty when there was
  /// nothing to rename (spec: joining#troubleshooting, CASES 69).
  [[nodiscard]] result<std::string> set_aside(time_point now) const;

 private:
  explicit identity_store(private_dir dir) : dir_(std::move(dir)) {}
  private_dir dir_;
};

/// The files of a data folder that set_aside() would rename, by a look from
/// outside that changes nothing. One that cannot be looked at counts as there.
[[nodiscard]] std::vector<std::string> files_to_set_aside(
    const std::filesystem::path& data_dir);

/// The text of identity.json.
[[nodiscard]] std::string encode(const identity& who);
[[nodiscard]] result<identity> decode_identity(std::string_view text);

}  // namespace bc::daemon
