-- A node's newest session, its acceptance, and when to warn of the end of its
-- certificate (null: nothing is left to tell).
alter table nodes add column session text collate "C";
alter table nodes add column session_gateway text collate "C";
alter table nodes add column session_address text collate "C";
alter table nodes add column session_version text collate "C";
alter table nodes add column connected_at bigint;
alter table nodes add column disconnected_at bigint;
alter table nodes add column disconnect_reason text collate "C";
alter table nodes add column acceptance_started_at bigint;
alter table nodes add column acceptance_failed_at bigint;
alter table nodes add column failed_checks text collate "C";
alter table nodes add column warn_at bigint;

create index if not exists nodes_by_gateway on nodes (session_gateway, id)
  where connected_at is not null and disconnected_at is null;
create index if not exists nodes_to_warn on nodes (warn_at)
  where warn_at is not null;
