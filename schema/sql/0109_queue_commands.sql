-- Commands to nodes: what was asked, and what became of it. `seq` is the
-- position of the event that made it, zero-padded.
create table if not exists commands (
  id text primary key,
  seq text not null,
  tenant text not null,
  node text not null,
  kind text not null,
  payload text not null,
  enqueued_at integer not null,
  expires_at integer not null,
  completed_at integer,
  succeeded integer,
  output text
);
create index if not exists commands_by_node on commands (node, seq);
create index if not exists commands_pending on commands
  (node, enqueued_at, seq)
  where completed_at is null;

-- Since when a node's inventory names other hardware than its own.
alter table nodes add column hardware_changed_at integer;
alter table nodes add column hardware_taken_at integer;
