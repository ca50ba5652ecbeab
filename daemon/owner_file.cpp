#include "daemon/owner_file.hpp"

#include "daemon/descriptor.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr mode_t of_others = 0077;

}  // namespace

result<secret_bytes> read_owner_file(const std::filesystem::path& file,
                                     std::size_t most) {
  auto bad = [&file](const std::string& what) {
    return fail(errc::invalid_config, file.string() + " " + what);
  };
  // NONBLOCK: a pipe that nobody writes to would wait for ever.
  const descriptor in{
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!in)
    return bad(std::string{"cannot be opened: "} + std::strerror(errno));
  struct stat about {};
  if (::fstat(in.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return bad("is not a regular file");
  if ((about.st_mode & of_others) != 0)
    return bad("is open to others; its mode must be 0600 or 0400");
  if (static_cast<std::size_t>(about.st_size) > most)
    return bad("is too long");
  bytes content(most + 1);
  std::size_t size = 0;
  while (size < content.size()) {
    auto got = ::read(in.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      wipe(content.data(), content.size());
      return bad(std::string{"cannot be read: "} + std::strerror(errno));
    }
    if (got == 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  secret_bytes all{std::move(content)};
  if (size > most)
    return bad("is too long");
  return secret_bytes{all.expose().first(size)};
}

}  // namespace bc::daemon
