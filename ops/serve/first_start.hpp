#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "events/journal.hpp"
#include "events/pki_bundle.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <optional>
#include <string>

/// What turns an empty store into a deployment: the keys, the root tenant, its
/// first credential (spec: DESIGN section 4, first start). Used by `dev`,
/// `pki init` and `credentials bootstrap`; nothing here migrates.
namespace bc::serve {

/// A batch by the system, without events.
[[nodiscard]] events::batch new_batch(time_point now);

/// One event that is the first of its stream.
[[nodiscard]] events::stream_write first_event(events::stream_id stream,
                                               const tenant_id& tenant,
                                               events::event_write event);

[[nodiscard]] events::stream_write root_tenant_event(const tenant_id& id,
                                                     time_point now);

/// The one root tenant; nullopt in a store that was not bootstrapped.
[[nodiscard]] result<std::optional<tenant_id>> find_root_tenant(
    events::journal& store);

/// A new credential of the root tenant that may do everything.
struct minted_credential {
  secret_bytes text;  // as its file holds it
  events::stream_write write;
};
[[nodiscard]] minted_credential mint_root_credential(const tenant_id& tenant,
                                                     time_point now);

/// The stream `pki` as the store holds it; version 0 when there is none.
[[nodiscard]] result<events::pki_bundle::state> read_sealed_keys(
    events::journal& store);

/// The key bundle that the store holds, opened with the deployment's secret;
/// null when there is none yet. INVALID_CONFIG for another secret.
[[nodiscard]] result<std::shared_ptr<const pki::key_bundle>> load_keys(
    events::journal& store, const secret_bytes& secret);

/// The same with the version of the stream that holds them.
struct stored_keys {
  std::shared_ptr<const pki::key_bundle> bundle;
  std::uint64_t version = 0;
};
[[nodiscard]] result<stored_keys> load_keys_at(events::journal& store,
                                               const secret_bytes& secret);
/// False when the keys were rotated after that version: who still runs with it
/// must start again to trust and sign as the others do.
[[nodiscard]] result<bool> keys_are_current(events::journal& store,
                                            std::uint64_t version);

/// Makes the root tenant and its first credential, which goes to a new 0600
/// file first. ALREADY_EXISTS when there is a root tenant, or a file.
[[nodiscard]] result<tenant_id> bootstrap(events::journal& store,
                                          const std::string& file,
                                          time_point now);

/// One more credential of the root tenant, for who lost them all: who can write
/// the store needs no other leave, and the event tells of it. The older ones
/// stay as they are. INVALID_STATE without a root tenant, ALREADY_EXISTS when
/// there is such a file.
[[nodiscard]] result<tenant_id> bootstrap_again(events::journal& store,
                                                const std::string& file,
                                                time_point now);

}  // namespace bc::serve
