#include "daemon/tpm/transport.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <grp.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::daemon::tpm {

namespace {

constexpr const char* loader_name = "libtss2-tctildr.so.0";
constexpr std::size_t most_response = 4096;

// TSS2_TCTI_CONTEXT_COMMON_V1 (TCG TSS 2.0 TCTI, section 3.1), as far as we
// call it. Declared here so that bcd is built without tpm2-tss.
struct context {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t (*transmit)(context*, std::size_t, const std::uint8_t*);
  std::uint32_t (*receive)(context*, std::size_t*, std::uint8_t*, std::int32_t);
};
using initialize_fn = std::uint32_t (*)(const char*, context**);
using finalize_fn = void (*)(context**);

constexpr std::int32_t without_timeout = -1;

fault gone(std::string message) {
  return fail(errc::unavailable, std::move(message));
}

class tcti_transport final : public transport {
 public:
  tcti_transport(context* c, finalize_fn finalize)
      : context_(c), finalize_(finalize) {}
  tcti_transport(const tcti_transport&) = delete;
  tcti_transport& operator=(const tcti_transport&) = delete;
  ~tcti_transport() override { finalize_(&context_); }

  result<secret_bytes> exchange(byte_view command) override {
    if (context_->transmit(context_, command.size(), command.data()) != 0)
      return gone("the TPM takes no command");
    bytes out(most_response);
    std::size_t size = out.size();
    if (context_->receive(context_, &size, out.data(), without_timeout) != 0 ||
        size > out.size()) {
      wipe(out.data(), out.size());
      return gone("the TPM gives no answer");
    }
    out.resize(size);
    return secret_bytes{std::move(out)};
  }

 private:
  context* context_;
  finalize_fn finalize_;
};

// By its name, or its number.
std::string group_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    return "(unknown)";
  std::array<char, 4096> buffer{};
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(about.st_gid, &entry, buffer.data(), buffer.size(),
                   &found) == 0 &&
      found != nullptr)
    return found->gr_name;
  return std::to_string(about.st_gid);
}

// Why a device cannot be opened, said better than the library does.
std::optional<fault> device_fault(std::string_view tcti) {
  constexpr std::string_view prefix = "device:";
  if (!tcti.starts_with(prefix))
    return std::nullopt;
  std::string path{tcti.substr(prefix.size())};
  if (::access(path.c_str(), R_OK | W_OK) == 0)
    return std::nullopt;
  if (errno == EACCES)
    return gone(path + " may not be opened: run as a member of its group " +
                group_of(path) +
                " (a service: SupplementaryGroups=), as root, or with "
                "[helper]");
  return gone(path + ": " + std::strerror(errno));
}

}  // namespace

result<std::unique_ptr<transport>> open_tcti(const std::string& tcti) {
  if (auto why = device_fault(tcti))
    return std::move(*why);
  // Never closed: the TCTIs it loads keep threads and handlers of their own.
  auto* library = ::dlopen(loader_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return gone(std::string{loader_name} +
                " is missing: install tpm2-tss (libtss2-tctildr0)");
  auto initialize = reinterpret_cast<initialize_fn>(
      ::dlsym(library, "Tss2_TctiLdr_Initialize"));
  auto finalize =
      reinterpret_cast<finalize_fn>(::dlsym(library, "Tss2_TctiLdr_Finalize"));
  if (initialize == nullptr || finalize == nullptr)
    return gone(std::string{loader_name} + " is not the library of tpm2-tss");
  context* opened = nullptr;
  if (initialize(tcti.c_str(), &opened) != 0 || opened == nullptr)
    return gone("no TPM answers at " + tcti);
  return std::unique_ptr<transport>{
      std::make_unique<tcti_transport>(opened, finalize)};
}

}  // namespace bc::daemon::tpm
