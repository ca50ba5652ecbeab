#include "daemon/doctor_files.hpp"

#include "daemon/rejoin_doctor.hpp"
#include "pki/jwe.hpp"

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace bc::daemon {

namespace {

constexpr std::uint64_t room_for_renewal = 1 << 20;
constexpr mode_t others = 077;

}  // namespace

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o",
                static_cast<unsigned>(mode & 07777));
  return text.data();
}

finding judge_join_key(const config& c, bool has_joined) {
  constexpr auto* check = "join-key";
  const auto wrong = has_joined ? verdict::warning : verdict::failed;
  std::ifstream in{c.join_encryption_jwk, std::ios::binary};
  const auto file = c.join_encryption_jwk.string();
  if (!in)
    return {check, verdict::warning, "there is no " + file,
            "a join needs it, or --server URL"};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto key = pki::from_jwk(text);
  if (!key)
    return {check, wrong, file + " is not a P-256 public key (JWK)",
            "generate the install script again and rerun it"};
  if (key.value().pin() != c.join_encryption_key_pin)
    return {check, wrong,
            "the key in " + file +
                " does not have the pin join_encryption_key_pin: bcd join "
                "fails",
            "after a rotation of the key, generate the install script again "
            "and rerun it"};
  return {check, verdict::ok, file + " has its pin"};
}

std::optional<finding> judge_files(const std::filesystem::path& folder,
                                   bool absent) {
  constexpr auto* check = "files";
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0) {
    if (absent)
      return std::nullopt;
    return finding{check, verdict::failed, "cannot look at " + folder.string(),
                   "run bcd doctor as root"};
  }
  std::string wrong;
  auto judge = [&wrong](const std::filesystem::path& path,
                        const struct stat& s) {
    if ((s.st_mode & others) != 0)
      wrong += (wrong.empty() ? "" : ", ") + path.string() + " has mode " +
               octal(s.st_mode);
  };
  judge(folder, about);
  auto owner = about.st_uid;
  for (const auto* name :
       {"identity.json", "node.key", "node.key.next", "status.json"}) {
    auto path = folder / name;
    if (::lstat(path.c_str(), &about) != 0)
      continue;
    judge(path, about);
    if (about.st_uid != owner)
      wrong += (wrong.empty() ? "" : ", ") + path.string() +
               " belongs to another user than its folder";
  }
  if (wrong.empty())
    return finding{check, verdict::ok,
                   folder.string() + " is its owner's alone"};
  return finding{check, verdict::failed, wrong,
                 "chmod 0700 " + folder.string() +
                     " and 0600 what is in it; if others could read node.key, "
                     "revoke the identity and " +
                     join_again};
}

std::optional<finding> judge_room(const std::filesystem::path& folder) {
  constexpr auto* check = "renewal";
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) == 0 &&
      room.f_bavail * room.f_frsize < room_for_renewal)
    return finding{check, verdict::failed,
                   "the disk of " + folder.string() +
                       " is full: the new key could not be written",
                   "make room"};
  if ((room.f_flag & ST_RDONLY) != 0)
    return finding{check, verdict::failed,
                   folder.string() +
                       " is mounted read-only: the new key could not be "
                       "written",
                   "mount it for writing"};
  return std::nullopt;
}

}  // namespace bc::daemon
