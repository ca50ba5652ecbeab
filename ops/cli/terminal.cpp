#include "ops/cli/terminal.hpp"

#include "base/text.hpp"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bc::cli {

namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view{} : text;
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

presentation presentation_of_output(bool utc) {
  presentation out;
  out.now = system_clock{}.now();
  out.utc = utc;
  if (::isatty(STDOUT_FILENO) == 0)
    return out;
  out.columns = columns_of(STDOUT_FILENO);
  // no-color.org: set to anything but nothing.
  out.colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return out;
}

result<void> confirm(bool yes, const std::string& question) {
  if (yes)
    return ok();
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)
    return fail(errc::invalid_input,
                "this cannot be taken back; add --yes to do it");
  std::cerr << question << " Type yes: " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (trimmed(answer) == "yes")
    return ok();
  return fail(errc::invalid_input, "not confirmed; nothing was done");
}

}  // namespace bc::cli
