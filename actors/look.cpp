#include "actors/look.hpp"

#include <spdlog/spdlog.h>

#include <mutex>
#include <set>

namespace bc::actors {

namespace {

constexpr std::size_t most_told = 10'000;

// A stream that is damaged is found so at each look.
bool is_news(std::string trouble) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard lock{mutex};
  if (told.size() >= most_told)
    told.clear();
  return told.insert(std::move(trouble)).second;
}

}  // namespace

bool ends_look(std::string_view what, const std::string& about,
               const fault& f) {
  if (about.empty() || f.code == errc::unavailable) {
    spdlog::warn("{}: {} {}", what, f.message, f.detail);
    return true;
  }
  if (is_news(std::string{what} + ' ' + about))
    spdlog::error("{}: {} is left out: {} {}", what, about, f.message,
                  f.detail);
  return false;
}

}  // namespace bc::actors
