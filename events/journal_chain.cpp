#include "events/journal_chain.hpp"

#include <utility>

namespace bc::events::detail {

fault does_not_verify(std::string what) {
  return fail(errc::internal,
              "the journal does not verify: " + std::move(what));
}

fault bad_row(std::uint64_t position, const std::string& what) {
  return does_not_verify("row " + std::to_string(position) + " " + what);
}

result<void> row_chain::add(const envelope& e, std::string hash) {
  if (e.position != position_ + 1)
    return bad_row(position_ + 1, "is missing");
  if (hash != e.hash)
    return bad_row(e.position, "is altered");
  if (e.time < time_)
    return bad_row(e.position, "is earlier than the row before it");
  // A row right after the end of a commit begins the next one.
  bool begins = hashes_.empty() || e.commit != commit_;
  if (begins && e.commit != commit_ + 1)
    return bad_row(e.position, "is of another commit than its place");
  if (begins) {
    BC_TRYV(finish());
    commit_ = e.commit;
  }
  position_ = e.position;
  time_ = e.time;
  hashes_.push_back(std::move(hash));
  return ok();
}

result<void> row_chain::finish() {
  if (hashes_.empty())
    return ok();
  auto first = position_ - hashes_.size() + 1;
  end_ = {position_, commit_, commit_link(end_.link, hashes_)};
  hashes_.clear();
  return on_commit_ ? on_commit_(end_, first) : ok();
}

}  // namespace bc::events::detail
