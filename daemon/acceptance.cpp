#include "daemon/acceptance.hpp"

#include "daemon/renewal_loop.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::array<char, 4096> probe{};

result<void> check_hardware(const acceptance_tools& tools) {
  BC_TRY(claims, tools.hardware());
  auto key = pki::derive_hardware_key(pki::normalise(claims));
  if (!key.names_a_machine())
    return fail(errc::invalid_state,
                "the machine's identifiers do not name one machine");
  return ok();
}

result<void> check_clock(const acceptance_tools& tools) {
  auto offset = tools.clock_offset();
  if (!offset)
    return fail(errc::invalid_state, "the server has not told its time yet");
  if (*offset > tolerated_offset || *offset < -tolerated_offset)
    return fail(errc::invalid_state, clock_text(*offset, system_clock{}.now()));
  return ok();
}

fault failed(const char* what, const std::filesystem::path& folder) {
  return fail(errc::invalid_state, std::string{what} + " " + folder.string() +
                                       ": " + std::strerror(errno));
}

}  // namespace

result<void> check_data_folder(const std::filesystem::path& folder) {
  struct statfs about {};
  if (::statfs(folder.c_str(), &about) != 0)
    return failed("cannot look at", folder);
  if (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC)
    return fail(errc::invalid_state, folder.string() +
                                         " is in memory: a restart of the "
                                         "machine would lose its identity");
  // Never seen by name, and gone with the descriptor, or with the power.
  int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  auto name = (folder / "acceptance.tmp").string();
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    ::unlink(name.c_str());
  }
  if (file < 0)
    return failed("cannot write to", folder);
  bool written = ::write(file, probe.data(), probe.size()) ==
                     static_cast<ssize_t>(probe.size()) &&
                 ::fsync(file) == 0;
  auto out = written ? ok() : result<void>{failed("cannot write to", folder)};
  ::close(file);
  return out;
}

std::map<std::string, acceptance_check> acceptance_checks(
    acceptance_tools tools) {
  auto shared = std::make_shared<const acceptance_tools>(std::move(tools));
  return {
      {"hardware",
       [shared](const std::stop_token&) { return check_hardware(*shared); }},
      {"clock",
       [shared](const std::stop_token&) { return check_clock(*shared); }},
      {"data-folder",
       [shared](const std::stop_token&) {
         return check_data_folder(shared->data_dir);
       }},
      {"gateway", [shared](const std::stop_token& stop) {
         return shared->gateway(stop);
       }}};
}

}  // namespace bc::daemon
