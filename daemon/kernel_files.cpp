#include "daemon/kernel_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace bc::daemon {

namespace {

namespace fs = std::filesystem;

// Also of a device that goes away meanwhile, and of an attribute that its
// driver does not have.
bool is_absence(int why) {
  return why == ENOENT || why == ENOTDIR || why == ENODEV ||
         why == EOPNOTSUPP || why == EINVAL;
}

struct read_outcome {
  std::string text;
  int why = 0;
};

read_outcome read_all(const fs::path& file) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return {{}, errno};
  read_outcome out;
  std::array<char, 4096> buffer;
  for (;;) {
    auto got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    out.why = got < 0 ? errno : 0;
    if (got <= 0)
      break;
    out.text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return out;
}

}  // namespace

fault cannot_read(const std::string& what, int why) {
  if (why == EACCES || why == EPERM)
    return fail(
        errc::invalid_state,
        "need root to read hardware identifiers (" + what + "): run as root");
  return fail(errc::invalid_state,
              "cannot read " + what + ": " + std::strerror(why));
}

result<std::optional<std::string>> read_kernel_file(const fs::path& file) {
  auto [text, why] = read_all(file);
  if (is_absence(why))
    return std::optional<std::string>{};
  if (why != 0)
    return cannot_read(file.string(), why);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  return std::optional{std::move(text)};
}

result<std::optional<fs::path>> resolve(const fs::path& path) {
  std::error_code ec;
  auto where = fs::canonical(path, ec);
  if (!ec)
    return std::optional{std::move(where)};
  if (is_absence(ec.value()))
    return std::optional<fs::path>{};
  return cannot_read(path.string(), ec.value());
}

result<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::directory_iterator it{folder, ec}, end; !ec && it != end;
       it.increment(ec))
    out.push_back(it->path().filename().string());
  if (ec && !is_absence(ec.value()))
    return cannot_read(folder.string(), ec.value());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace bc::daemon
