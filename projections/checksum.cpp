#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "projections/checkpoint.hpp"
#include "projections/projector.hpp"
#include "projections/tables.hpp"

#include <algorithm>

namespace bc::projections {

namespace {

constexpr std::int64_t rows_at_once = 2000;

// A page of a table in key order: Postgres would send a whole table at once.
std::string page_of(const table& t) {
  std::string out{"select "};
  out.append(t.key).append(",").append(t.columns);
  out.append(" from ").append(t.name).append(" where ").append(t.key);
  return out.append(" > ?1 order by ").append(t.key).append(" limit ?2");
}

const std::array<std::string, tables.size()>& pages() {
  static const auto texts = [] {
    std::array<std::string, tables.size()> out;
    std::transform(tables.begin(), tables.end(), out.begin(), page_of);
    return out;
  }();
  return texts;
}

// Numbers as their decimal digits, so that every database gives the same.
void add_row(pki::field_hash& hash, const sql::statement& row, int columns) {
  for (int column = 1; column <= columns; ++column)
    hash.add(row.is_null(column) ? "null" : "value").add(row.text(column));
}

// The key of the last row, empty after the last page.
result<std::string> add_page(sql::connection& db, const table& t,
                             const std::string& page, std::string_view after,
                             pki::field_hash& hash) {
  auto columns =
      1 + static_cast<int>(std::count(t.columns.begin(), t.columns.end(), ','));
  BC_TRY(rows, db.prepare(page));
  rows.bind(1, after).bind(2, rows_at_once);
  std::string last;
  for (;;) {
    BC_TRY(more, rows.step());
    if (!more)
      return last;
    add_row(hash, rows, columns);
    last = rows.text(0);
  }
}

result<std::string> hash_all(sql::connection& db) {
  pki::field_hash hash;
  BC_TRY(at, read_checkpoint(db));
  hash.add(std::to_string(at.position));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    hash.add(tables[i].name);
    std::string after;
    do {
      BC_TRY(last, add_page(db, tables[i], pages()[i], after, hash));
      after = std::move(last);
    } while (!after.empty());
  }
  return to_hex(std::move(hash).finish());
}

}  // namespace

result<std::string> checksum(sql::connection& db) {
  if (db.in_transaction())
    return hash_all(db);
  // All pages of one moment.
  BC_TRYV(db.execute(read_script(db.kind())));
  auto sum = hash_all(db);
  auto ended = db.execute("rollback");
  if (sum && !ended)
    return std::move(ended).error();
  return sum;
}

}  // namespace bc::projections
