#include "events/kafka/properties.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::events::kafka {

namespace {

constexpr std::array ours = {
    "acks",
    "request.required.acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "isolation.level",
    "partitioner",
    "transactional.id",
};

// A line end is none: lines are cut first.
constexpr std::string_view blanks = " \t\r";

constexpr std::size_t max_file = 64 * 1024;

// What no other user can read or change: its owner's alone, or root's for one
// group (as systemd and packages install it).
result<void> check_owner(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode))
    return fail(errc::invalid_config, path + " is no regular file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(errc::invalid_config,
                path + " belongs to another user, who can change it");
  const mode_t others = info.st_uid == 0 ? 037 : 077;
  if ((info.st_mode & others) != 0)
    return fail(errc::invalid_config,
                path +
                    " may hold passwords: let its owner alone read it "
                    "(chmod 600)");
  return ok();
}

result<std::string> read_open(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return fail(errc::invalid_config,
                path + " cannot be read: " + std::strerror(errno));
  BC_TRYV(check_owner(info, path));
  std::string text(max_file + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    auto got = ::read(fd, text.data() + have, text.size() - have);
    if (got < 0)
      return fail(errc::invalid_config,
                  path + " cannot be read: " + std::strerror(errno));
    if (got == 0)
      break;
    have += static_cast<std::size_t>(got);
  }
  if (have > max_file)
    return fail(errc::invalid_config, path + " is larger than 64 KiB");
  text.resize(have);
  return text;
}

// Opened once: what was judged is what is read. Never waits for a pipe.
result<std::string> read_private(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(errc::invalid_config,
                path + " cannot be read: " + std::strerror(errno));
  auto text = read_open(fd, path);
  ::close(fd);
  return text;
}

}  // namespace

result<void> check_properties(const properties& given) {
  for (const std::string name : ours)
    if (given.contains(name))
      return fail(errc::invalid_config, "Kafka property " + name +
                                            " is not to be set: what "
                                            "subscribers are promised rests "
                                            "on it");
  if (auto it = given.find("bootstrap.servers");
      it == given.end() || it->second.empty())
    return fail(errc::invalid_config,
                "Kafka property bootstrap.servers is missing");
  return ok();
}

result<properties> read_properties(const std::string& path) {
  BC_TRY(content, read_private(path));
  properties out;
  std::string_view rest = content;
  for (int number = 1; !rest.empty(); ++number) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto text = trimmed(rest.substr(0, end), blanks);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (text.empty() || text.front() == '#')
      continue;
    auto equals = text.find('=');
    auto name = std::string{trimmed(text.substr(0, equals), blanks)};
    // The line is not repeated: it may be a password.
    if (equals == std::string_view::npos || name.empty())
      return fail(errc::invalid_config, path + ":" + std::to_string(number) +
                                            ": not of the form name = value");
    if (!out.emplace(name, trimmed(text.substr(equals + 1), blanks)).second)
      return fail(errc::invalid_config, path + ":" + std::to_string(number) +
                                            ": " + name + " is given twice");
  }
  return out;
}

}  // namespace bc::events::kafka
