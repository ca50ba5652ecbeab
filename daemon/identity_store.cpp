#include "daemon/identity_store.hpp"

#include "base/fault_point.hpp"
#include "pki/certificate.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace bc::daemon {

namespace {

// How long the join service gives a lost answer again.
constexpr seconds answer_lifetime{600};
const std::string identity_name = "identity.json";
const std::string key_name = "node.key";
const std::string next_key_name = "node.key.next";
const std::string status_name = "status.json";
const std::string pending_key_name = "node.key.pending";
const std::string pending_csr_name = "csr.pending";
const std::string pending_ek_name = "ek.pending";
constexpr int most_resets_a_second = 1000;
// In the order in which a reset renames them. The identity is last: of a reset
// that was cut short, another one finds the rest.
const std::array<std::string, 6> identity_files = {
    "journal.db",     next_key_name, pending_csr_name,
    pending_key_name, key_name,      identity_name};

using keeper_ptr = std::shared_ptr<tpm::key_keeper>;

std::optional<node_key> key_in(const std::optional<secret_bytes>& file,
                               const keeper_ptr& keeper = nullptr) {
  if (!file)
    return std::nullopt;
  auto key = node_key::read(file->expose_text(), keeper);
  if (!key)
    return std::nullopt;
  return std::move(key).value();
}

// A key of a TPM that was cleared since is of no use; of one that does not
// answer nobody can tell, and the certificate might come for a key that is
// gone.
result<bool> signs(const node_key& key) {
  if (key.blobs() == nullptr)
    return true;
  auto made = key.sign(pki::sha256({}));
  if (!made && made.error().code != errc::invalid_state)
    return fail(made.error().code,
                "the TPM, which has the key of an unfinished join: " +
                    made.error().message + "; nothing was sent");
  return static_cast<bool>(made);
}

bool certifies(const identity& who, const pki::public_key& key) {
  auto leaf = pki::parse_certificate(who.certificate_chain.front());
  return leaf && leaf.value().key == key;
}

identity_look broken(std::string why) {
  identity_look out;
  out.why = std::move(why);
  return out;
}

result<identity_look> look_in(const private_dir& dir,
                              const keeper_ptr& keeper) {
  BC_TRY(file, dir.read(identity_name));
  BC_TRY(key_file, dir.read(key_name));
  BC_TRY(next_file, dir.read(next_key_name));
  if (!file) {
    auto out = broken("identity.json is missing");
    out.absent = !key_file && !next_file;
    out.join_unfinished = dir.age(pending_csr_name).has_value();
    return out;
  }
  auto who = decode_identity(file->expose_text());
  if (!who)
    return broken(file->empty()
                      ? "identity.json is empty"
                      : "identity.json is damaged: " + who.error().path + " " +
                            who.error().message);
  identity_look out;
  for (const auto* from : {&key_file, &next_file}) {
    auto key = key_in(*from, keeper);
    if (!key || !certifies(who.value(), key->pub()))
      continue;
    out.pair = node_identity{std::move(who).value(), std::move(*key)};
    out.key_is_next = from == &next_file;
    return out;
  }
  if (!key_file)
    return broken("node.key is missing");
  return broken(key_in(key_file)
                    ? "the certificate in identity.json is not for node.key"
                    : "node.key is not a P-256 private key (PKCS#8, or "
                      "TSS2 for one in the TPM)");
}

// A stop between two steps of a renewal, for tests.
result<void> survive(fault_point at) {
  if (hit(at) == fault_action::error)
    return fail(errc::invalid_state, "cannot write the renewed identity");
  return ok();
}

// ".reset-20261130T120000Z"
std::string reset_suffix(time_point now) {
  auto text = to_rfc3339(now);
  text.erase(text.find('.'));
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return ".reset-" + text + "Z";
}

}  // namespace

std::vector<std::string> files_to_set_aside(
    const std::filesystem::path& data_dir) {
  std::vector<std::string> found;
  std::copy_if(identity_files.begin(), identity_files.end(),
               std::back_inserter(found), [&](const std::string& name) {
                 std::error_code ignored;
                 return std::filesystem::symlink_status(data_dir / name,
                                                        ignored)
                            .type() != std::filesystem::file_type::not_found;
               });
  return found;
}

result<identity_look> look_at_identity(
    const std::filesystem::path& data_dir,
    std::shared_ptr<tpm::key_keeper> keeper) {
  std::error_code ignored;
  if (std::filesystem::symlink_status(data_dir, ignored).type() ==
      std::filesystem::file_type::not_found) {
    auto none = broken("there is no folder " + data_dir.string());
    none.absent = true;
    return none;
  }
  BC_TRY(dir, private_dir::look(data_dir));
  return look_in(dir, keeper);
}

std::optional<std::string> read_status(const std::filesystem::path& data_dir) {
  auto dir = private_dir::look(data_dir);
  if (!dir)
    return std::nullopt;
  auto file = dir.value().read(status_name);
  if (!file || !file.value())
    return std::nullopt;
  return std::string{file.value()->expose_text()};
}

std::string pending_ek(const std::filesystem::path& data_dir) {
  auto dir = private_dir::look(data_dir);
  if (!dir)
    return {};
  auto file = dir.value().read(pending_ek_name);
  return file && file.value() ? std::string{file.value()->expose_text()}
                              : std::string{};
}

result<identity_store> identity_store::open(
    const std::filesystem::path& data_dir,
    std::shared_ptr<tpm::key_keeper> keeper) {
  BC_TRY(dir, private_dir::open(data_dir));
  return identity_store{std::move(dir), std::move(keeper)};
}

result<std::optional<identity>> identity_store::load() const {
  BC_TRY(found, look_in(dir_, keeper_));
  if (!found.pair)
    return std::optional<identity>{};
  return std::optional{std::move(found.pair->who)};
}

result<identity_look> identity_store::look() const {
  return look_in(dir_, keeper_);
}

result<pending_request> identity_store::pending(const key_maker& make,
                                                bool only_in_tpm) const {
  BC_TRY(key_file, dir_.read(pending_key_name));
  BC_TRY(csr_file, dir_.read(pending_csr_name));
  auto old_key = key_in(key_file, keeper_);
  const bool counts = old_key && (!only_in_tpm || old_key->blobs() != nullptr);
  if (counts && csr_file) {
    auto csr = pki::parse_csr(csr_file->expose());
    const bool fits = csr && csr.value().key == old_key->pub();
    BC_TRY(is_of_use, signs(*old_key));
    if (fits && is_of_use)
      return pending_request{std::move(*old_key), to_bytes(csr_file->expose()),
                             true};
  }
  BC_TRY(key, make ? make() : node_key{pki::private_key::generate()});
  BC_TRY(csr, key.csr());
  auto text = key.file_text();
  BC_TRYV(dir_.write(pending_key_name, text.expose()));
  BC_TRYV(dir_.write(pending_csr_name, csr));
  return pending_request{std::move(key), std::move(csr), false};
}

void identity_store::forget_pending() const noexcept {
  dir_.remove(pending_csr_name);
  dir_.remove(pending_key_name);
  dir_.remove(pending_ek_name);
}

void identity_store::note_pending_ek(const std::string& kind) const {
  // For the next run's choice alone, which may be made anew.
  (void)dir_.write(pending_ek_name, as_bytes(kind));
}

void identity_store::forget_pending_of(const identity& who) const noexcept {
  auto file = dir_.read(pending_key_name);
  auto key = file ? key_in(file.value()) : std::nullopt;
  if (!key || certifies(who, key->pub()))
    forget_pending();
}

bool identity_store::pending_is_recent() const noexcept {
  auto age = dir_.age(pending_csr_name);
  return age && *age >= seconds{0} && *age <= answer_lifetime;
}

void identity_store::refresh_pending() const noexcept {
  dir_.touch(pending_csr_name);
}

result<void> identity_store::keep(const node_key& key,
                                  const identity& who) const {
  auto text = key.file_text();
  BC_TRYV(dir_.write(key_name, text.expose()));
  if (hit(fault_point::daemon_before_identity) == fault_action::error)
    return fail(errc::invalid_state, "cannot write identity.json");
  BC_TRYV(dir_.write(identity_name, as_bytes(encode(who))));
  // Only now: until the pair is whole, a retry needs the same CSR.
  forget_pending();
  return ok();
}

result<void> identity_store::renew(const node_key& key,
                                   const identity& who) const {
  // node.key.next may be the only key of identity.json, after a rename that
  // failed: it must not be written over.
  BC_TRY(found, look_in(dir_, keeper_));
  BC_TRYV(settle(found));
  auto text = key.file_text();
  BC_TRYV(survive(fault_point::daemon_before_next_key));
  BC_TRYV(dir_.write(next_key_name, text.expose()));
  BC_TRYV(survive(fault_point::daemon_after_next_key));
  BC_TRYV(dir_.write(identity_name, as_bytes(encode(who))));
  BC_TRYV(survive(fault_point::daemon_before_new_key));
  BC_TRYV(dir_.replace(next_key_name, key_name));
  return survive(fault_point::daemon_after_new_key);
}

result<void> identity_store::settle(const identity_look& found) const {
  if (found.pair && found.key_is_next)
    return dir_.replace(next_key_name, key_name);
  if (found.pair)
    dir_.remove(next_key_name);
  return ok();
}

result<void> identity_store::write_status(std::string_view json) const {
  return dir_.write(status_name, as_bytes(json));
}

result<std::string> identity_store::set_aside(time_point now) const {
  std::vector<std::string> present;
  std::copy_if(identity_files.begin(), identity_files.end(),
               std::back_inserter(present),
               [this](const std::string& name) { return dir_.holds(name); });
  if (present.empty())
    return std::string{};
  auto taken = [this](const std::string& suffix) {
    return std::any_of(
        identity_files.begin(), identity_files.end(),
        [&](const std::string& name) { return dir_.holds(name + suffix); });
  };
  const auto first = reset_suffix(now);
  auto suffix = first;
  // On a disk that fails every name looks taken; rename() says so then.
  for (int n = 2; n <= most_resets_a_second && taken(suffix); ++n)
    suffix = first + "-" + std::to_string(n);
  // It tells of the identity that goes.
  dir_.remove(status_name);
  for (const auto& name : present)
    if (auto moved = dir_.rename(name, name + suffix); !moved)
      return fail(moved.error().code, moved.error().message +
                                          "; what was renamed before ends in " +
                                          suffix);
  return suffix;
}

}  // namespace bc::daemon
