#include "daemon/join.hpp"

#include "daemon/identity_store.hpp"
#include "daemon/join_attempt.hpp"
#include "daemon/join_recipient.hpp"

#include <utility>

namespace bc::daemon {

namespace {

// Where the old files are, and how to go on after a failure: another reset
// would also set aside the request whose answer can still be had.
join_outcome with_old_files(join_outcome outcome, const config& c,
                            const std::string& suffix) {
  if (suffix.empty())
    return outcome;
  outcome.message +=
      "\nthe old files are in " + c.data_dir.string() + ", named *" + suffix;
  if (outcome.exit_code != join_exit::joined)
    outcome.message +=
        "; run bcd join again without --reset, then systemctl restart bcd";
  return outcome;
}

// What a machine that joined answers while its `bcd node` has the folder
// (spec: joining#troubleshooting).
std::optional<join_outcome> joined_beside(const config& c) {
  auto found = look_at_identity(c.data_dir);
  if (!found || !found.value().pair)
    return std::nullopt;
  return joined_as(found.value().pair->who, true);
}

// Before anything of an old identity is set aside.
result<void> tpm_answers(const join_options& options) {
  if (!options.evidence || !options.evidence->is_ready)
    return ok();
  auto ready = options.evidence->is_ready();
  if (ready)
    return ok();
  return fail(
      ready.error().code,
      ready.error().message + "; nothing was sent (bcd doctor tells more)");
}

// The join, with the folder in hand.
join_outcome join_in(const identity_store& store, const config& c,
                     hardware_source& hardware, const token_source& token,
                     const join_options& options) {
  if (!options.reset) {
    auto known = store.load();
    if (!known)
      return ended(join_exit::local, known.error().message);
    if (known.value()) {
      store.forget_pending_of(*known.value());
      return joined_as(*known.value(), true);
    }
  }
  std::optional<token_seal> sealing;
  if (!options.without_token) {
    auto secret = token();
    if (!secret)
      return ended(join_exit::usage, secret.error().message);
    auto to = join_recipient(c, options.fetch_key);
    if (!to.key)
      return ended(to.code, to.message);
    sealing.emplace(token_seal{*to.key, std::move(secret).value()});
  }
  auto claims = hardware.read();
  if (!claims)
    return ended(join_exit::local, claims.error().message);
  const bool in_tpm = options.evidence && options.evidence->key_in_tpm;
  if (auto fits = tpm_answers(options); !fits)
    return ended(join_exit::local, fits.error().message);
  std::string suffix;
  if (options.reset) {
    auto moved = store.set_aside(machine_time(options));
    if (!moved)
      return ended(join_exit::local,
                   moved.error().message + "; nothing was sent");
    suffix = moved.value();
  }
  const auto& keys = options.keys;
  auto request = store.pending(
      [&] { return in_tpm ? keys.make_in_tpm() : keys.make(); }, in_tpm);
  if (request && options.evidence && options.evidence->begins)
    options.evidence->begins(request.value());
  if (request && options.evidence && options.evidence->ek_kind)
    store.note_pending_ek(options.evidence->ek_kind());
  if (!request)
    return with_old_files(ended(join_exit::local, request.error().message), c,
                          suffix);
  auto outcome =
      attempt_join(c, options, store, claims.value(), sealing, request.value());
  return with_old_files(std::move(outcome), c, suffix);
}

}  // namespace

join_outcome run_join(const config& c, hardware_source& hardware,
                      const token_source& token, const join_options& options) {
  if (auto checked = check(c); !checked)
    return ended(join_exit::usage, checked.error().message);
  auto store = identity_store::open(c.data_dir, options.keys.keeper());
  if (!store && store.error().code == errc::conflict && !options.reset)
    if (auto known = joined_beside(c))
      return *known;
  if (!store)
    return ended(join_exit::local, store.error().message);
  auto outcome = join_in(store.value(), c, hardware, token, options);
  outcome.held_folder = true;
  return outcome;
}

join_outcome run_join(const config& c, hardware_source& hardware,
                      secret_bytes token, const join_options& options) {
  return run_join(
      c, hardware,
      [&token]() -> result<secret_bytes> { return std::move(token); }, options);
}

}  // namespace bc::daemon
