#include "events/postgres_newest.hpp"

#include "events/postgres_reader.hpp"

#include <algorithm>

namespace bc::events::detail {

namespace {

fault lacks(postgres::connection& db, std::uint64_t position) {
  db.abandon();
  return fail(errc::unavailable, "the database lacks what was in it", {},
              "event " + std::to_string(position) +
                  " is not there: an old primary, or a standby that was behind "
                  "when it was promoted? (docs/deploy.md)");
}

}  // namespace

void postgres_newest::know(const envelope& e) {
  std::lock_guard lock{mutex_};
  if (e.position <= position_)
    return;
  position_ = e.position;
  hash_ = e.hash;
}

result<void> postgres_newest::check(postgres::connection& db) {
  std::uint64_t position = 0;
  std::string hash;
  {
    std::lock_guard lock{mutex_};
    position = position_;
    hash = hash_;
  }
  if (position == 0)
    return ok();
  BC_TRY(rows, postgres_reader{db}.events_after(position - 1, 1));
  if (!rows.empty() && rows.front().hash == hash)
    return ok();
  return lacks(db, position);
}

result<void> postgres_newest::check_head(postgres::connection& db,
                                         std::uint64_t position) {
  std::uint64_t least = 0;
  {
    std::lock_guard lock{mutex_};
    least = std::max(position_, settled_);
  }
  if (position >= least)
    return ok();
  return lacks(db, least);
}

void postgres_newest::settle(std::uint64_t position) {
  std::lock_guard lock{mutex_};
  settled_ = std::max(settled_, position);
}

bool postgres_newest::is_settled(std::uint64_t position) {
  std::lock_guard lock{mutex_};
  return position <= settled_;
}

}  // namespace bc::events::detail
