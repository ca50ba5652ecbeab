#pragma once

#include <string>

namespace bc::dev {

/// What a running `dev` tells its user to try.
struct next_steps {
  std::string program;  // better-compute; bcd is beside it
  std::string api_url;
  std::string credential_file;
  std::string daemon_config;
  std::string tenant;
  std::string pool;
  bool root = false;  // the user is root: no sudo, which may not be there
};

/// The text as one word of a POSIX shell.
[[nodiscard]] std::string shell_word(const std::string& text);

/// Commands that work as they stand in a shell in any folder: paths are made
/// absolute here.
[[nodiscard]] std::string next_steps_text(const next_steps& s);

}  // namespace bc::dev
