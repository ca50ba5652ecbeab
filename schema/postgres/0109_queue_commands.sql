-- Commands to nodes: what was asked, and what became of it. `seq` is the
-- position of the event that made it, zero-padded.
create table if not exists commands (
  id text collate "C" primary key,
  seq text collate "C" not null,
  tenant text collate "C" not null,
  node text collate "C" not null,
  kind text collate "C" not null,
  payload text collate "C" not null,
  enqueued_at bigint not null,
  expires_at bigint not null,
  completed_at bigint,
  succeeded bigint,
  output text collate "C"
);
create index if not exists commands_by_node on commands (node, seq);
create index if not exists commands_pending on commands
  (node, enqueued_at, seq)
  where completed_at is null;

-- Since when a node's inventory names other hardware than its own.
alter table nodes add column hardware_changed_at bigint;
alter table nodes add column hardware_taken_at bigint;
