#include "ops/dev/next_steps.hpp"

#include <algorithm>
#include <filesystem>

namespace bc::dev {

namespace {

namespace fs = std::filesystem;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') ||
         std::string_view{"_-./:,+@%="}.find(c) != std::string_view::npos;
}

std::string path_word(const fs::path& path) {
  return shell_word(fs::absolute(path).lexically_normal().string());
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain))
    return text;
  std::string out = "'";
  for (char c : text)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

std::string next_steps_text(const next_steps& s) {
  auto own = path_word(s.program);
  auto daemon = path_word(fs::path{s.program}.parent_path() / "bcd");
  return "\nTry in another terminal:\n\n"
         "  export BETTER_COMPUTE_URL=" +
         s.api_url + "\n  export BETTER_COMPUTE_CREDENTIAL_FILE=" +
         path_word(s.credential_file) +
         "\n  export BETTER_COMPUTE_TENANT=" + s.tenant + "\n  " + own +
         " nodes list\n  " + own + " join-tokens create --pool " + s.pool +
         " --ttl 1h --key my-first --out ./join-token\n  " +
         (s.root ? "" : "sudo ") + daemon + " join --config " +
         path_word(s.daemon_config) + " --data-dir ./node < ./join-token\n  " +
         own +
         " events list --follow\n\n"
         "Ctrl-C stops the server.";
}

}  // namespace bc::dev
