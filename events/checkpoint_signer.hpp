#pragma once

#include "events/checkpoint.hpp"
#include "pki/bundle.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::events {

struct checkpoint_options {
  /// The lease's epoch while this process holds it (lease_keeper.hpp).
  std::function<std::optional<std::uint64_t>()> epoch;
  /// One line for the log for each checkpoint, after it is in the store.
  std::function<void(std::string_view line)> log;
  /// Told once why none could be signed: to be logged as an error, as the
  /// journal may have been rewritten.
  std::function<void(std::string_view line)> alarm;
  seconds every{60};              // in which events came
  std::uint64_t events = 10'000;  // at most between two
  milliseconds look{1000};        // how often the head is read
};

/// When and what to sign; without a thread. Before a checkpoint is signed the
/// rows since the last one are followed, hash by hash: what was rewritten in
/// the store meanwhile is never signed.
class checkpoint_duty {
 public:
  /// All must outlive it. `known`: the keys an earlier checkpoint may be
  /// signed with.
  checkpoint_duty(journal& store, const pki::private_key& key,
                  std::vector<pki::public_key> known,
                  const checkpoint_options& options);

  /// One look; the checkpoint that was signed and stored, if it was time.
  /// INVALID_STATE when the lease is another's, INTERNAL naming the row when
  /// the journal is not what the last checkpoint said.
  [[nodiscard]] result<std::optional<checkpoint>> look(std::uint64_t epoch);

 private:
  [[nodiscard]] result<void> find_last();
  [[nodiscard]] result<void> follow(const head_row& head) const;

  journal& store_;
  const pki::private_key& key_;
  const std::vector<pki::public_key> known_;
  const checkpoint_options& options_;
  std::uint64_t epoch_ = 0;
  std::optional<checkpoint> last_;
};

/// The duty on a thread of its own.
class checkpoint_signer {
 public:
  [[nodiscard]] static std::unique_ptr<checkpoint_signer> start(
      journal& store, std::shared_ptr<const pki::key_bundle> keys,
      checkpoint_options options);
  virtual ~checkpoint_signer() = default;
  /// Ends the thread; what it does is finished first.
  virtual void stop() = 0;
};

}  // namespace bc::events
