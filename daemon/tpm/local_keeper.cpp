#include "daemon/tpm/local_keeper.hpp"

#include "daemon/owner_file.hpp"

#include <filesystem>
#include <mutex>
#include <sys/stat.h>

namespace bc::daemon::tpm {

namespace {

// The longest hash of a TPM: a password is not longer than its object's Name.
constexpr std::size_t most_password = 64;
constexpr std::string_view device_prefix = "device:";

result<secret_bytes> password_in(const std::filesystem::path& file) {
  if (file.empty())
    return secret_bytes{};
  BC_TRY(read, read_owner_file(file, most_password + 1));
  auto content = read.expose();
  if (!content.empty() && content.back() == '\n')
    content = content.first(content.size() - 1);
  if (content.empty() || content.size() > most_password)
    return fail(errc::invalid_config,
                file.string() + " must hold 1 to 64 bytes of password");
  return secret_bytes{content};
}

class local final : public attesting_keeper {
 public:
  explicit local(const tpm_settings& settings) : settings_(settings) {}

  bool is_there() override { return seems_there(settings_.tcti); }
  result<bytes> ak_public() override {
    return with([](machine_tpm& m) { return m.ak_public(); });
  }
  result<key_blobs> create_node_key() override {
    return with([](machine_tpm& m) { return m.create_node_key(); });
  }
  result<pki::raw_signature> sign(const key_blobs& key,
                                  const pki::sha256_digest& digest) override {
    return with([&](machine_tpm& m) { return m.sign(key, digest); });
  }
  result<device::certified> certify(const key_blobs& key,
                                    byte_view csr_der) override {
    return with([&](machine_tpm& m) { return m.certify(key, csr_der); });
  }
  result<chosen_ek> choose_ek(
      const std::optional<std::string>& recorded) override {
    return with([&](machine_tpm& m) { return m.choose_ek(recorded); });
  }
  result<secret_bytes> activate(const chosen_ek& ek, byte_view credential_blob,
                                byte_view encrypted_secret) override {
    return with([&](machine_tpm& m) {
      return m.activate(ek, credential_blob, encrypted_secret);
    });
  }

 private:
  template <class Work>
  auto with(Work work) -> decltype(work(std::declval<machine_tpm&>())) {
    std::lock_guard one_at_a_time{mutex_};
    BC_TRY(opened, open_machine_tpm(settings_));
    return work(opened);
  }

  const tpm_settings settings_;
  std::mutex mutex_;
};

class none final : public attesting_keeper {
 public:
  bool is_there() override { return false; }
  result<bytes> ak_public() override { return off(); }
  result<key_blobs> create_node_key() override { return off(); }
  result<pki::raw_signature> sign(const key_blobs&,
                                  const pki::sha256_digest&) override {
    return off();
  }
  result<device::certified> certify(const key_blobs&, byte_view) override {
    return off();
  }
  result<chosen_ek> choose_ek(const std::optional<std::string>&) override {
    return off();
  }
  result<secret_bytes> activate(const chosen_ek&, byte_view,
                                byte_view) override {
    return off();
  }

 private:
  static fault off() {
    return fail(errc::unavailable,
                "the configuration keeps bcd from the TPM ([tpm] enabled = "
                "\"false\")");
  }
};

}  // namespace

bool seems_there(const std::string& tcti) {
  if (!tcti.starts_with(device_prefix))
    return true;
  std::error_code ec;
  auto status = std::filesystem::status(tcti.substr(device_prefix.size()), ec);
  return status.type() != std::filesystem::file_type::not_found;
}

std::optional<unsigned> group_of_device(const std::string& tcti) {
  struct stat about {};
  if (!tcti.starts_with(device_prefix) ||
      ::stat(tcti.substr(device_prefix.size()).c_str(), &about) != 0 ||
      about.st_uid == 0 || about.st_gid == 0)
    return std::nullopt;
  return about.st_gid;
}

result<machine_tpm> open_machine_tpm(const tpm_settings& settings) {
  machine_tpm::passwords passwords;
  BC_TRY(owner, password_in(settings.owner_auth_file));
  BC_TRY(endorsement, password_in(settings.endorsement_auth_file));
  passwords.owner = std::move(owner);
  passwords.endorsement = std::move(endorsement);
  BC_TRY(transport, open_tcti(settings.tcti));
  return machine_tpm{std::move(transport), std::move(passwords)};
}

std::shared_ptr<attesting_keeper> local_keeper(const tpm_settings& settings) {
  return std::make_shared<local>(settings);
}

std::shared_ptr<attesting_keeper> no_keeper() {
  return std::make_shared<none>();
}

}  // namespace bc::daemon::tpm
