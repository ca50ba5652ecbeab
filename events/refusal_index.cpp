#include "events/refusal_index.hpp"

#include <set>
#include <utility>

namespace bc::events::detail {

namespace {

// A row that this batch wrote before (its answer was lost) is left alone.
constexpr std::string_view add_row =
    "insert into refused_joins (owner, csr_sha256, reason, token, attestor, "
    "role, first_ms, last_ms, times, details, batch) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "on conflict (owner, csr_sha256, reason, token) do update set "
    "attestor = excluded.attestor, role = excluded.role, "
    "last_ms = excluded.last_ms, "
    "times = refused_joins.times + excluded.times, "
    "details = excluded.details, batch = excluded.batch "
    "where refused_joins.batch <> excluded.batch";

// The first row beyond those that stay, and all before it.
constexpr std::string_view drop_old =
    "delete from refused_joins where owner = ?1 and reason = ?2 and "
    "(last_ms, csr_sha256, token) <= "
    "(select last_ms, csr_sha256, token from refused_joins "
    "where owner = ?1 and reason = ?2 "
    "order by last_ms desc, csr_sha256 desc, token desc limit 1 offset ?3)";

constexpr std::string_view find_rows =
    "select owner, csr_sha256, reason, token, attestor, role, first_ms, "
    "last_ms, times, details from refused_joins "
    "where owner = ? and csr_sha256 >= ? and csr_sha256 < ? "
    "order by last_ms desc, reason, token limit ?";

result<void> add(sql::connection& db, const batch_id& id,
                 const refused_join& r) {
  BC_TRY(insert, db.prepare(add_row));
  return insert.bind(1, r.owner)
      .bind(2, r.csr_sha256)
      .bind(3, r.reason)
      .bind(4, r.token)
      .bind(5, r.attestor)
      .bind(6, r.role)
      .bind(7, to_millis(r.first_at))
      .bind(8, to_millis(r.last_at))
      .bind(9, r.times)
      .bind(10, r.details)
      .bind(11, id.str())
      .run();
}

result<void> send(sql::connection& db, const batch_id& id,
                  std::span<const refused_join> refused) {
  std::set<std::pair<std::string_view, std::string_view>> grown;
  for (const auto& r : refused) {
    BC_TRYV(add(db, id, r));
    grown.emplace(r.owner, r.reason);
  }
  for (const auto& [owner, reason] : grown) {
    BC_TRY(drop, db.prepare(drop_old));
    BC_TRYV(drop.bind(1, owner)
                .bind(2, reason)
                .bind(3, sql::to_bound(refusals_kept))
                .run());
  }
  return ok();
}

}  // namespace

result<void> put_refusals(sql::connection& db, const batch_id& id,
                          std::span<const refused_join> refused) {
  db.begin_pipeline();
  auto sent = send(db, id, refused);
  auto flushed = db.flush();
  return sent ? flushed : sent;
}

result<std::vector<refused_join>> refusals_of(sql::connection& db,
                                              std::string_view owner,
                                              std::string_view csr_sha256,
                                              std::size_t limit) {
  BC_TRY(query, db.prepare(find_rows));
  // What begins with it: nothing of hexadecimal is after "g".
  query.bind(1, owner)
      .bind(2, csr_sha256)
      .bind(3, std::string{csr_sha256} + "g")
      .bind(4, sql::to_bound(limit));
  std::vector<refused_join> out;
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return out;
    out.push_back({query.text(0), query.text(1), query.text(2), query.text(3),
                   query.text(4), query.text(5), from_millis(query.number(6)),
                   from_millis(query.number(7)), query.number(8),
                   query.text(9)});
  }
}

}  // namespace bc::events::detail
