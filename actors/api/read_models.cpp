#include "actors/api/read_models.hpp"

#include <algorithm>

namespace bc::actors {

namespace {

constexpr std::chrono::milliseconds ask_every{10};

// Neither half holds a NUL.
std::string key_of(const std::string& tenant, const std::string& principal) {
  return tenant + '\0' + principal;
}

}  // namespace

void read_models::wrote(const std::string& tenant, const std::string& principal,
                        std::uint64_t position) {
  const auto key = key_of(tenant, principal);
  std::lock_guard lock{mutex_};
  auto& last = written_.use(key, position);
  last = std::max(last, position);
}

std::uint64_t read_models::last_of(const std::string& tenant,
                                   const std::string& principal) const {
  auto key = key_of(tenant, principal);
  std::lock_guard lock{mutex_};
  const auto* last = written_.find(key);
  return last ? *last : 0;
}

std::uint64_t read_models::reached() const {
  std::lock_guard lock{mutex_};
  return reached_;
}

void read_models::reach(std::uint64_t position) {
  std::lock_guard lock{mutex_};
  reached_ = std::max(reached_, position);
}

bool read_models::may_ask(instant now) {
  std::lock_guard lock{mutex_};
  if (now - asked_ < ask_every)
    return false;
  asked_ = now;
  return true;
}

}  // namespace bc::actors
