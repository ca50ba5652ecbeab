#include "base/json.hpp"
#include "daemon/tpm_doctor.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

namespace bc::daemon {

namespace {

constexpr std::size_t name_column = 15;
constexpr std::size_t verdict_column = 9;

std::string padded(std::string_view text, std::size_t width) {
  std::string out{text};
  out.resize(std::max(width, out.size() + 1), ' ');
  return out;
}

// Who holds bcd.lock. /proc/locks is read rather than the lock tried: a daemon
// that starts in that moment would be turned away.
std::optional<int> holder_of(const std::filesystem::path& data_dir) {
  struct stat about {};
  if (::stat((data_dir / "bcd.lock").c_str(), &about) != 0)
    return std::nullopt;
  auto inode = ":" + std::to_string(about.st_ino);
  std::ifstream locks{"/proc/locks"};
  for (std::string line; std::getline(locks, line);) {
    std::istringstream fields{line};
    std::string number;
    std::string kind;
    std::string mode;
    std::string access;
    std::string file;
    int pid = 0;
    // "1: FLOCK  ADVISORY  WRITE 1234 fe:01:131 0 EOF"
    if (fields >> number >> kind >> mode >> access >> pid >> file &&
        kind == "FLOCK" && file.ends_with(inode) && pid > 0)
      return pid;
  }
  return std::nullopt;
}

}  // namespace

std::string_view verdict_text(verdict v) noexcept {
  switch (v) {
    case verdict::ok:
      return "ok";
    case verdict::warning:
      return "warning";
    case verdict::failed:
      return "failed";
  }
  return "failed";
}

doctor_tools real_tools() {
  return {[](const config& c, std::string_view path, const node_identity* me) {
            return get_from_gateway(c, path, me);
          },
          [] { return system_clock{}.now(); }, holder_of, look_at_tpm};
}

bool any_failed(const std::vector<finding>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const finding& f) { return f.how == verdict::failed; });
}

std::string to_json(const std::vector<finding>& all) {
  json::writer out;
  out.begin_object().field("ok", !any_failed(all)).key("checks").begin_array();
  for (const auto& f : all) {
    out.begin_object()
        .field("check", f.check)
        .field("status", verdict_text(f.how))
        .field("message", f.message);
    if (!f.advice.empty())
      out.field("advice", f.advice);
    out.end_object();
  }
  out.end_array().end_object();
  return out.str() + "\n";
}

std::string to_text(const std::vector<finding>& all) {
  std::string out;
  for (const auto& f : all) {
    out += padded(verdict_text(f.how), verdict_column) +
           padded(f.check, name_column) + f.message + "\n";
    if (!f.advice.empty())
      out += std::string(verdict_column + name_column, ' ') + "-> " + f.advice +
             "\n";
  }
  return out;
}

}  // namespace bc::daemon
