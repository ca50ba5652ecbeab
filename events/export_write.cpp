#include "base/encoding.hpp"
#include "events/export.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <utility>

namespace bc::events {

namespace {

constexpr std::size_t page = 1000;

class exporter {
 public:
  exporter(journal& source, export_header header, const line_sink& write)
      : source_(source), header_(std::move(header)), write_(write) {}

  result<void> run() {
    BC_TRYV(put(header_));
    detail::row_chain chain{
        {}, [this](const detail::chain_point& end, std::uint64_t) {
          return end_commit(end);
        }};
    BC_TRYV(next_checkpoints());
    while (chain.position() < header_.head.position) {
      BC_TRY(rows, source_.read_all(chain.position(), page));
      if (rows.empty())
        return detail::bad_row(chain.position() + 1, "is missing");
      for (auto& e : rows) {
        if (e.position > header_.head.position)
          break;
        BC_TRYV(put(chain, std::move(e)));
      }
    }
    BC_TRYV(chain.finish());
    if (chain.end().link != header_.head.link ||
        chain.end().commit != header_.head.commit)
      return detail::does_not_verify("the head does not follow from the rows");
    export_end end{lines_, to_hex(std::move(digest_).finish())};
    BC_TRY(text, to_text(end));
    return write_(text);
  }

 private:
  result<void> put(const export_line& line) {
    BC_TRY(text, to_text(line));
    digest_.add(text);
    ++lines_;
    return write_(text);
  }

  // A commit's line comes before the first row of the next.
  result<void> put(detail::row_chain& chain, envelope e) {
    BC_TRYV(chain.add(e, row_hash(e)));
    export_event line{std::move(e), std::nullopt};
    if (!header_.with_internal) {
      line.internal_hash = to_hex(pki::sha256(as_bytes(line.row.internal)));
      line.row.internal.clear();
    }
    return put(export_line{std::move(line)});
  }

  result<void> end_commit(const detail::chain_point& end) {
    BC_TRYV(put(export_commit{end}));
    while (next_ < checkpoints_.size() &&
           checkpoints_[next_].position <= end.position) {
      const auto& c = checkpoints_[next_];
      if (c.position != end.position)
        return detail::does_not_verify("the checkpoint at row " +
                                       std::to_string(c.position) +
                                       " is at no commit's end");
      BC_TRYV(put(c));
      if (++next_ == checkpoints_.size()) {
        BC_TRYV(next_checkpoints());
      }
    }
    return ok();
  }

  result<void> next_checkpoints() {
    auto after = checkpoints_.empty() ? 0 : checkpoints_.back().position;
    BC_TRY(found, source_.read_checkpoints(after, page));
    checkpoints_ = std::move(found);
    next_ = 0;
    return ok();
  }

  journal& source_;
  export_header header_;
  const line_sink& write_;
  pki::field_hash digest_;
  std::uint64_t lines_ = 0;
  std::vector<checkpoint> checkpoints_;
  std::size_t next_ = 0;
};

}  // namespace

result<export_header> write_export(journal& source, bool with_internal,
                                   const line_sink& write) {
  BC_TRY(head, source.head());
  export_header header{std::move(head), with_internal};
  BC_TRYV(exporter(source, header, write).run());
  return header;
}

}  // namespace bc::events
