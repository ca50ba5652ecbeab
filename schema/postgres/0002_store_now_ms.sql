-- The store's clock, in milliseconds. It moves inside a transaction, unlike
-- now(): what waited for a lock is judged by the time after the wait.
create function store_now_ms() returns bigint
language sql volatile
as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;
