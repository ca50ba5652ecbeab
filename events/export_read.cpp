#include "base/encoding.hpp"
#include "events/checkpoint_check.hpp"
#include "events/export.hpp"
#include "events/journal_folds.hpp"
#include "pki/digest.hpp"

#include <unordered_map>
#include <utility>

namespace bc::events {

namespace {

fault cut_off() {
  return fail(errc::invalid_input, "the export is cut off: it has no end line");
}

class reader {
 public:
  reader(const verify_request& against,
         const std::function<result<void>(const export_event&)>& each)
      : against_(against),
        each_(each),
        chain_({},
               [this](const detail::chain_point&, std::uint64_t) {
                 open_ = false;
                 return result<void>{ok()};
               }),
        checkpoints_(against) {}

  result<export_summary> run(const line_source& next) {
    BC_TRYV(checkpoints_.begin());
    for (;;) {
      BC_TRY(text, next());
      if (!text)
        break;
      BC_TRYV(take(*text));
    }
    if (!ended_)
      return cut_off();
    return std::move(summary_);
  }

 private:
  result<void> take(std::string_view text) {
    auto line = parse_export_line(text);
    if (!line)
      return at_line(std::move(line).error());
    if (ended_ ||
        has_header_ == std::holds_alternative<export_header>(line.value()))
      return misplaced();
    auto done =
        std::visit([this](const auto& l) { return add(l); }, line.value());
    BC_TRYV(std::move(done));
    if (!ended_)
      digest_.add(text);
    ++lines_;
    return ok();
  }

  fault at_line(fault f) const {
    f.code = errc::invalid_input;
    f.message =
        "line " + std::to_string(lines_ + 1) + " of the export " + f.message;
    return f;
  }

  fault misplaced() const {
    return at_line(fail(errc::invalid_input, "is not what must follow there"));
  }

  result<void> add(const export_header& h) {
    summary_.header = h;
    has_header_ = true;
    return ok();
  }

  result<void> add(const export_event& e) {
    if (e.internal_hash.has_value() == summary_.header.with_internal)
      return misplaced();
    // The line of the commit before it was left out.
    if (open_ && e.row.commit != chain_.commit())
      return detail::bad_row(e.row.position,
                             "begins a commit before the last one ended");
    BC_TRYV(chain_.add(e.row, e.hash()));
    open_ = true;
    auto& version = versions_[e.row.stream];
    if (e.row.version != version + 1)
      return detail::bad_row(e.row.position,
                             "is out of order in stream " + e.row.stream);
    version = e.row.version;
    BC_TRYV(follow(e));
    return each_ ? each_(e) : ok();
  }

  result<void> follow(const export_event& e) {
    // Nothing about the journal itself is internal.
    auto row = e.row;
    if (e.internal_hash)
      row.internal = "{}";
    BC_TRYV(checkpoints_.add_event(row));
    if (e.internal_hash || !against_.effects)
      return ok();
    auto effect = against_.effects(row);
    if (effect)
      return folds_.add(row, effect.value());
    auto why = std::move(effect).error();
    why.message = "row " + std::to_string(row.position) +
                  " cannot be folded: " + why.message;
    return why;
  }

  result<void> add(const export_commit& c) {
    if (!open_)
      return misplaced();
    BC_TRYV(chain_.finish());
    const auto& end = chain_.end();
    if (c.end.position != end.position || c.end.commit != end.commit ||
        c.end.link != end.link)
      return detail::does_not_verify(
          "commit " + std::to_string(end.commit) + ", which ends at row " +
          std::to_string(end.position) +
          ", is altered: its link does not match its rows");
    return checkpoints_.at_commit(end);
  }

  result<void> add(const checkpoint& c) {
    if (open_ || c.position <= signed_to_)
      return misplaced();
    BC_TRYV(checkpoints_.stored(c, chain_.end()));
    signed_to_ = c.position;
    ++summary_.checkpoints;
    return ok();
  }

  result<void> add(const export_end& e) {
    if (open_)
      return misplaced();
    const auto& end = chain_.end();
    const auto& head = summary_.header.head;
    if (end.position < head.position)
      return detail::bad_row(end.position + 1, "is missing");
    if (end.position != head.position || end.commit != head.commit ||
        end.link != head.link)
      return detail::does_not_verify("the header does not fit the rows");
    BC_TRYV(checkpoints_.finish(end, head.incarnation));
    if (e.lines != lines_ || e.digest != to_hex(std::move(digest_).finish()))
      return at_line(fail(errc::invalid_input,
                          "has another digest than the lines before it"));
    ended_ = true;
    return ok();
  }

  const verify_request& against_;
  const std::function<result<void>(const export_event&)>& each_;
  detail::row_chain chain_;
  detail::checkpoint_check checkpoints_;
  detail::claim_and_budget_folds folds_;
  std::unordered_map<stream_id, std::uint64_t> versions_;
  pki::field_hash digest_;
  export_summary summary_;
  std::uint64_t lines_ = 0;
  std::uint64_t signed_to_ = 0;
  bool has_header_ = false;
  bool open_ = false;  // a commit's rows came and not yet its end
  bool ended_ = false;
};

}  // namespace

result<export_summary> read_export(
    const line_source& next, const verify_request& against,
    const std::function<result<void>(const export_event&)>& each) {
  return reader{against, each}.run(next);
}

}  // namespace bc::events
