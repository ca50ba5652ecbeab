#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "daemon/identity.hpp"
#include "daemon/node_key.hpp"
#include "daemon/private_dir.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// An identity and the private key its certificate is for.
struct node_identity {
  identity who;
  node_key key;

  [[nodiscard]] node_identity clone() const { return {who, key.clone()}; }
};

/// A look at a data folder's identity.
struct identity_look {
  std::optional<node_identity> pair;  // nullopt: it does not load
  std::string why;                    // why it does not load, in words
  bool absent = false;  // there is neither identity.json nor a key: not joined
  bool join_unfinished = false;  // no identity.json, and a CSR that waits
  /// A renewal was cut short: the key is still in node.key.next.
  bool key_is_next = false;
};

/// A key and its request that wait for an answer.
struct pending_request {
  node_key key;
  bytes csr;
  /// They were made by an earlier run whose answer never came.
  bool from_earlier_run = false;
};

/// identity.json and node.key in the data folder, and what comes before them.
class identity_store {
 public:
  /// The errors of private_dir::open(). Keys that are in the TPM sign by the
  /// keeper; without one they load and do not sign.
  [[nodiscard]] static result<identity_store> open(
      const std::filesystem::path& data_dir,
      std::shared_ptr<tpm::key_keeper> keeper = nullptr);

  /// nullopt unless identity.json is whole and its certificate is for the key
  /// in node.key: a damaged pair does not count as joined (CASES 177). An
  /// expired one does.
  [[nodiscard]] result<std::optional<identity>> load() const;
  /// The same with the key, and the reason when it does not load. The key may
  /// be the one in node.key.next, where a renewal was cut short. INVALID_STATE
  /// for a file that cannot be read.
  [[nodiscard]] result<identity_look> look() const;

  /// The key and CSR of an attempt whose outcome is unknown, or new ones that
  /// are on disk before they are given out: a retry, also by a new process,
  /// presents the same CSR and so gets the stored answer (CASES 14). A new key
  /// is what `make` gives, by itself one of a file; its faults are the answer.
  /// An earlier key that is not in the TPM counts for nothing when
  /// `only_in_tpm`; one in the TPM is tried: one that the TPM does not load any
  /// more counts for nothing, and UNAVAILABLE while the TPM does not answer.
  using key_maker = std::function<result<node_key>()>;
  [[nodiscard]] result<pending_request> pending(const key_maker& make = {},
                                                bool only_in_tpm = false) const;
  void forget_pending() const noexcept;
  /// The EK kind that goes with them, for a run that goes on with them.
  void note_pending_ek(const std::string& kind) const;
  /// Forgets it when this identity came of it; one that waits for the answer to
  /// another attempt (daemon/rejoin.hpp) stays.
  void forget_pending_of(const identity& who) const noexcept;
  /// Whether the server may still hold an answer to the pending CSR.
  [[nodiscard]] bool pending_is_recent() const noexcept;
  /// The pending CSR was sent just now.
  void refresh_pending() const noexcept;

  /// Writes node.key, then identity.json, then forgets the pending pair.
  [[nodiscard]] result<void> keep(const node_key& key,
                                  const identity& who) const;

  /// Puts a renewed identity in place: writes node.key.next, then
  /// identity.json, then renames node.key.next to node.key. After a crash
  /// between any two of these the old or the new pair loads (CASES 105, 177).
  /// Settles first what an earlier one left.
  [[nodiscard]] result<void> renew(const node_key& key,
                                   const identity& who) const;
  /// Finishes the renewal that was cut short, or forgets a key whose
  /// certificate never came. `found` is what look() said.
  [[nodiscard]] result<void> settle(const identity_look& found) const;

  /// A short text about the running daemon for `bcd doctor`.
  [[nodiscard]] result<void> write_status(std::string_view json) const;

  /// Renames the identity, what goes with it and what an unfinished join left
  /// to NAME.reset-TIME. The suffix, for example ".reset-20261130T120000Z", is
  /// one that no older file has, so no two sets mix; empty when there was
  /// nothing to rename (spec: joining#troubleshooting, CASES 69).
  [[nodiscard]] result<std::string> set_aside(time_point now) const;

  /// The folder, held for as long as this lives: for what else is kept in it.
  [[nodiscard]] const private_dir& folder() const noexcept { return dir_; }

 private:
  identity_store(private_dir dir, std::shared_ptr<tpm::key_keeper> keeper)
      : dir_(std::move(dir)), keeper_(std::move(keeper)) {}
  private_dir dir_;
  std::shared_ptr<tpm::key_keeper> keeper_;
};

/// What look() says, from outside: takes no lock, makes and changes nothing, so
/// that it works beside a running daemon. INVALID_STATE for a folder or file
/// that cannot be read.
[[nodiscard]] result<identity_look> look_at_identity(
    const std::filesystem::path& data_dir,
    std::shared_ptr<tpm::key_keeper> keeper = nullptr);
/// What note_pending_ek() noted for a request that waits; empty: nothing.
[[nodiscard]] std::string pending_ek(const std::filesystem::path& data_dir);
/// What write_status() wrote last; nullopt: nothing.
[[nodiscard]] std::optional<std::string> read_status(
    const std::filesystem::path& data_dir);

/// The files of a data folder that set_aside() would rename, by a look from
/// outside that changes nothing. One that cannot be looked at counts as there.
[[nodiscard]] std::vector<std::string> files_to_set_aside(
    const std::filesystem::path& data_dir);

}  // namespace bc::daemon
