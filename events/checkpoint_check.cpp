#include "events/checkpoint_check.hpp"

#include "events/journal_stream.hpp"

#include <algorithm>

namespace bc::events::detail {

namespace {

std::string named(const checkpoint& c, bool outside) {
  return std::string{outside ? "the checkpoint from outside"
                             : "the checkpoint"} +
         " at row " + std::to_string(c.position);
}

}  // namespace

checkpoint_check::checkpoint_check(const verify_request& against)
    : against_(against), outside_(against.outside) {
  std::ranges::stable_sort(outside_, {}, &checkpoint::position);
}

result<void> checkpoint_check::begin() const {
  for (const auto& c : outside_)
    if (against_.is_signed && !against_.is_signed(c))
      return does_not_verify(named(c, true) +
                             " is not signed by the journal's key");
  return ok();
}

result<void> checkpoint_check::add_event(const envelope& e) {
  BC_TRY(started, journal_log::begun_by(e));
  if (!started)
    return ok();
  BC_TRYV(has_incarnation(e.position, started->previous));
  incarnation_ = started->incarnation;
  since_ = e.position;
  return ok();
}

result<void> checkpoint_check::has_incarnation(std::uint64_t position,
                                               const incarnation_id& said) {
  if (!incarnation_)
    incarnation_ = said;
  if (*incarnation_ == said)
    return ok();
  auto why = "is said to be of incarnation " + said.str() +
             ", but is of incarnation " + incarnation_->str();
  if (since_ > 0)
    why += ", which began at row " + std::to_string(since_) +
           " (after a restore, what the old one held beyond that is lost)";
  return bad_row(position, why);
}

result<void> checkpoint_check::at_commit(const chain_point& end) {
  while (next_ < outside_.size() && outside_[next_].position <= end.position) {
    BC_TRYV(compare(outside_[next_], end, true));
    ++next_;
  }
  return ok();
}

result<void> checkpoint_check::stored(const checkpoint& c,
                                      const chain_point& end) {
  if (against_.is_signed && !against_.is_signed(c))
    return does_not_verify(named(c, false) +
                           " is not signed by the journal's key");
  return compare(c, end, false);
}

result<void> checkpoint_check::compare(const checkpoint& c,
                                       const chain_point& end, bool outside) {
  if (c.position != end.position || c.commit != end.commit ||
      c.link != end.link)
    return bad_row(good_ + 1, "or one after it, up to row " +
                                  std::to_string(c.position) +
                                  ", was rewritten, or " + named(c, outside) +
                                  " is of another journal");
  BC_TRYV(has_incarnation(c.position, c.incarnation));
  good_ = c.position;
  return ok();
}

fault checkpoint_check::beyond(const checkpoint& c, std::uint64_t last,
                               bool outside) {
  return bad_row(last + 1, "is missing: " + named(c, outside) +
                               " was signed when there were more rows");
}

result<void> checkpoint_check::finish(const chain_point& end,
                                      const incarnation_id& head) {
  if (next_ < outside_.size())
    return beyond(outside_[next_], end.position, true);
  if (incarnation_ && *incarnation_ != head)
    return does_not_verify("the head is of incarnation " + head.str() +
                           ", but the rows are of incarnation " +
                           incarnation_->str());
  return ok();
}

}  // namespace bc::events::detail
