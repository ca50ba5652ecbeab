#include "events/journal_shapes.hpp"
#include "events/postgres_group.hpp"

// The rows of a group as sets: one statement for each table, whatever the
// group's size.
namespace bc::events::detail {

using postgres::call;
using postgres::number_array;
using postgres::text_array;
using sql::to_bound;
using sql::to_sql;

call postgres_group::event_rows() {
  number_array positions, versions, type_versions;
  text_array streams, types, tenants, actors, correlations, datas, internals,
      hashes, batches;
  for (const auto& e : new_events_) {
    positions.add(to_sql(e.position));
    streams.add(e.stream);
    versions.add(to_sql(e.version));
    types.add(e.type);
    type_versions.add(e.type_version);
    tenants.add(e.tenant);
    actors.add(e.actor);
    correlations.add(e.correlation);
    datas.add(e.data);
    internals.add(e.internal);
    hashes.add(e.hash);
    batches.add(e.batch);
  }
  // The events of a group are of one commit and one time.
  const auto& last = new_events_.back();
  return {"insert into events (" BC_EVENT_COLUMNS
          ") select p, $13::bigint, s, v, t, tv, n, $14::bigint, a, "
          "c, d, i, h, b from unnest($1::bigint[], $2::text[], $3::bigint[], "
          "$4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], "
          "$9::text[], $10::text[], $11::text[], $12::text[]) "
          "as r(p, s, v, t, tv, n, a, c, d, i, h, b)",
          {positions.take(), streams.take(), versions.take(), types.take(),
           type_versions.take(), tenants.take(), actors.take(),
           correlations.take(), datas.take(), internals.take(), hashes.take(),
           batches.take(), to_sql(last.commit), to_millis(last.time)}};
}

call postgres_group::batch_rows() {
  text_array names;
  number_array firsts, lasts;
  for (const auto& row : new_batches_) {
    names.add(row.batch);
    firsts.add(to_sql(row.first));
    lasts.add(to_sql(row.last));
  }
  return {
      "insert into batches (batch, commit_no, first_position, "
      "last_position) select n, $4::bigint, f, l from unnest($1::text[], "
      "$2::bigint[], $3::bigint[]) as r(n, f, l)",
      {names.take(), firsts.take(), lasts.take(),
       to_sql(new_batches_.back().commit)}};
}

call postgres_group::claim_rows() {
  text_array names, streams;
  number_array positions, expiries;
  for (const auto& name : changed_claims_) {
    const auto& holder = claims_[name];
    if (!holder)
      continue;
    names.add(name);
    streams.add(holder->stream);
    positions.add(to_sql(holder->position));
    if (holder->expires_at)
      expiries.add(to_millis(*holder->expires_at));
    else
      expiries.add_null();
  }
  return {
      "insert into claims (claim, stream, position, expires_ms) "
      "select * from unnest($1::text[], $2::text[], $3::bigint[], "
      "$4::bigint[]) on conflict (claim) do update set "
      "stream = excluded.stream, position = excluded.position, "
      "expires_ms = excluded.expires_ms",
      {names.take(), streams.take(), positions.take(), expiries.take()}};
}

call postgres_group::released_claims() {
  text_array names;
  for (const auto& name : changed_claims_)
    if (!claims_[name])
      names.add(name);
  return {"delete from claims where claim = any($1::text[])", {names.take()}};
}

call postgres_group::budget_rows() {
  text_array names;
  number_array left, closed;
  for (const auto& name : changed_budgets_) {
    const auto& row = budgets_[name];
    names.add(name);
    left.add(row->left);
    closed.add(row->closed ? 1 : 0);
  }
  return {
      "insert into budgets (budget, amount_left, closed) "
      "select * from unnest($1::text[], $2::bigint[], $3::bigint[]) "
      "on conflict (budget) do update set "
      "amount_left = excluded.amount_left, closed = excluded.closed",
      {names.take(), left.take(), closed.take()}};
}

call postgres_group::limiter_rows() {
  text_array names;
  number_array versions, dropped;
  for (const auto& name : changed_limiters_) {
    const auto& row = limiters_[name];
    names.add(name);
    versions.add(to_sql(row->version));
    dropped.add(to_sql(row->dropped));
  }
  return {
      "insert into limiters (stream, version, dropped) "
      "select * from unnest($1::text[], $2::bigint[], $3::bigint[]) "
      "on conflict (stream) do update set version = excluded.version, "
      "dropped = excluded.dropped",
      {names.take(), versions.take(), dropped.take()}};
}

std::vector<call> postgres_group::writes() {
  std::vector<call> calls;
  if (!new_events_.empty())
    calls.push_back(event_rows());
  if (!new_batches_.empty())
    calls.push_back(batch_rows());
  if (new_commit_)
    calls.push_back(
        {"insert into commits (commit_no, last_position, link) "
         "values ($1, $2, $3)",
         {to_sql(new_commit_->commit), to_sql(new_commit_->last),
          new_commit_->link}});
  if (!changed_claims_.empty()) {
    calls.push_back(claim_rows());
    calls.push_back(released_claims());
  }
  if (!changed_budgets_.empty())
    calls.push_back(budget_rows());
  if (!changed_limiters_.empty())
    calls.push_back(limiter_rows());
  // By place: the claims that are to go are found by the index on their
  // expiry, and nobody else changes claims meanwhile.
  if (purge_)
    calls.push_back(
        {"delete from claims where ctid = any(array(select ctid "
         "from claims where expires_ms < $1 order by expires_ms "
         "limit $2))",
         {to_millis(purge_->first), to_bound(purge_->second)}});
  calls.push_back(
      {"update head set position = $1, commit_no = $2, link = $3, "
       "incarnation = $4, time_ms = $5 where one = 1",
       {to_sql(head_->row.position), to_sql(head_->row.commit), head_->row.link,
        head_->row.incarnation.str(), to_millis(head_->time)}});
  calls.push_back({"commit"});
  return calls;
}

}  // namespace bc::events::detail
