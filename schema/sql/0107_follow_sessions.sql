-- A node's newest session, its acceptance, and when to warn of the end of its
-- certificate (null: nothing is left to tell).
alter table nodes add column session text;
alter table nodes add column session_gateway text;
alter table nodes add column session_address text;
alter table nodes add column session_version text;
alter table nodes add column connected_at integer;
alter table nodes add column disconnected_at integer;
alter table nodes add column disconnect_reason text;
alter table nodes add column acceptance_started_at integer;
alter table nodes add column acceptance_failed_at integer;
alter table nodes add column failed_checks text;
alter table nodes add column warn_at integer;

create index if not exists nodes_by_gateway on nodes (session_gateway, id)
  where connected_at is not null and disconnected_at is null;
create index if not exists nodes_to_warn on nodes (warn_at)
  where warn_at is not null;
