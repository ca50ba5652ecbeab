#pragma once

#include "projections/query_texts.hpp"
#include "projections/rows.hpp"
#include "projections/source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bc::projections {

/// Runs queries over a source's connections. `values` are a query's parameters
/// in order, `read` makes one answer of a row_reader. The faults are those of
/// the source and of sql::statement::step().
class row_source {
 public:
  explicit row_source(std::unique_ptr<source> from) : from_(std::move(from)) {}

  template <class Read>
  using row_of = std::invoke_result_t<Read, row_reader>;

  template <class Read, class... Values>
  [[nodiscard]] result<std::vector<row_of<Read>>> rows(
      std::string_view text, Read read, const Values&... values) {
    using answer = std::vector<row_of<Read>>;
    return ask<answer>(
        text,
        [&](sql::statement& s) -> result<answer> {
          answer out;
          for (;;) {
            BC_TRY(more, s.step());
            if (!more)
              return out;
            out.push_back(read(row_reader{s}));
          }
        },
        values...);
  }

  /// The first column of every row.
  template <class... Values>
  [[nodiscard]] result<std::vector<std::string>> texts(
      std::string_view text, const Values&... values) {
    return rows(
        text, [](row_reader r) { return r.text(); }, values...);
  }

  /// At most `limit` of the rows, and the cursor of the next page: the query
  /// must give one row more where there is one.
  template <class Read, class... Values>
  [[nodiscard]] result<page<row_of<Read>>> page_of(std::string_view text,
                                                   int limit, Read read,
                                                   const Values&... values) {
    page<row_of<Read>> out;
    BC_TRY(found, rows(text, read, values...));
    out.items = std::move(found);
    if (out.items.size() > static_cast<std::size_t>(limit)) {
      out.items.erase(out.items.begin() + limit, out.items.end());
      out.next = out.items.back().id;
    }
    return out;
  }

  /// nullopt: there is no row.
  template <class Read, class... Values>
  [[nodiscard]] result<std::optional<row_of<Read>>> first(
      std::string_view text, Read read, const Values&... values) {
    using answer = std::optional<row_of<Read>>;
    return ask<answer>(
        text,
        [&](sql::statement& s) -> result<answer> {
          BC_TRY(found, s.step());
          return found ? answer{read(row_reader{s})} : answer{};
        },
        values...);
  }

  /// The number in the only row; 0 without one.
  template <class... Values>
  [[nodiscard]] result<std::uint64_t> count(std::string_view text,
                                            const Values&... values) {
    BC_TRY(found,
           first(
               text, [](row_reader r) { return r.number(); }, values...));
    return sql::of_sql(found.value_or(0));
  }

  template <class Answer, class Use>
  [[nodiscard]] result<Answer> with(Use use) {
    Answer answer;
    BC_TRYV(from_->with([&](sql::connection& db) -> result<void> {
      BC_TRY(found, use(db));
      answer = std::move(found);
      return ok();
    }));
    return answer;
  }

 private:
  template <class Answer, class Read, class... Values>
  result<Answer> ask(std::string_view text, Read read,
                     const Values&... values) {
    return with<Answer>([&](sql::connection& db) -> result<Answer> {
      BC_TRY(s, db.prepare(query::text_for(db.kind(), text)));
      [[maybe_unused]] int at = 0;
      (s.bind(++at, values), ...);
      return read(s);
    });
  }

  std::unique_ptr<source> from_;
};

}  // namespace bc::projections
