-- Locks the head row and answers it, the store's clock, and what is known of
-- the names asked for: one row for each thing found, the meaning of whose
-- columns depends on its kind. VOLATILE, and under READ COMMITTED: each query
-- here sees what was committed before it began, that is, all that was
-- committed before the lock was granted. (One statement that waits for the
-- lock by itself would go on to read by the snapshot it had before.)
create function lock_journal(batches_asked text[], streams_asked text[],
                             claims_asked text[], budgets_asked text[],
                             limiters_asked text[], newest_asked bigint[])
returns table (kind text, name text, other text, a bigint, b bigint, c bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
  return query
    select 'head', h.link, h.incarnation, h.position, h.commit_no, h.time_ms
    from head h where h.one = 1 for update;
  return query
    select 'now', '', '', store_now_ms(), 0::bigint, 0::bigint;
  return query
    select 'batch', r.batch, '', r.commit_no, r.first_position,
           r.last_position
    from unnest(batches_asked) q(batch) join batches r on r.batch = q.batch;
  return query
    select 'stream', q.stream, '', r.version, 0::bigint, 0::bigint
    from unnest(streams_asked) q(stream)
    cross join lateral (select e.version from events e
                        where e.stream = q.stream
                        order by e.version desc limit 1) r;
  return query
    select 'claim', r.claim, r.stream, r.position, r.expires_ms, 0::bigint
    from unnest(claims_asked) q(claim) join claims r on r.claim = q.claim;
  return query
    select 'budget', r.budget, '', r.amount_left, r.closed, 0::bigint
    from unnest(budgets_asked) q(budget) join budgets r on r.budget = q.budget;
  return query
    select 'limiter', r.stream, '', r.version, r.dropped, 0::bigint
    from unnest(limiters_asked) q(stream)
    join limiters r on r.stream = q.stream;
  return query
    select 'recent', q.stream, '', r.time_ms, r.version, 0::bigint
    from unnest(limiters_asked, newest_asked) q(stream, newest)
    cross join lateral (select e.time_ms, e.version from events e
                        where e.stream = q.stream
                        order by e.version desc limit q.newest) r;
end $$;
