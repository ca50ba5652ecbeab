#include "ops/cli/line_file.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace bc::cli {

result<line_file> line_file::open(const std::string& path,
                                  std::size_t max_line) {
  auto* f = path == "-" ? ::fdopen(::dup(STDIN_FILENO), "r")
                        : std::fopen(path.c_str(), "re");
  if (f == nullptr)
    return fail(errno == ENOENT ? errc::not_found : errc::invalid_config,
                "cannot open " + path + ": " + std::strerror(errno));
  return line_file{path, f, max_line};
}

result<std::optional<std::string_view>> line_file::next() {
  line_.clear();
  ++number_;
  auto* f = file_.get();
  for (int c = ::getc_unlocked(f); c != EOF; c = ::getc_unlocked(f)) {
    if (c == '\n')
      return std::optional{std::string_view{line_}};
    if (line_.size() == max_line_)
      return fail(errc::invalid_input,
                  path_ + " line " + std::to_string(number_) + " is too long");
    line_.push_back(static_cast<char>(c));
  }
  if (std::ferror(f) != 0)
    return fail(errc::unavailable,
                "cannot read " + path_ + ": " + std::strerror(errno));
  if (line_.empty())
    return std::optional<std::string_view>{};
  return std::optional{std::string_view{line_}};
}

}  // namespace bc::cli
