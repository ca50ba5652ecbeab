-- The journal and what is folded from it (spec: DESIGN sections 3 and 4), as
-- in sql/0001 and sql/0002. Times are milliseconds since 1970 in UTC: no
-- session's time zone can move them. Keys are ordered by their bytes.

create table events (
  position     bigint not null primary key,
  commit_no    bigint not null,
  stream       text collate "C" not null,
  version      bigint not null,
  type         text   not null,
  type_version bigint not null,
  tenant       text   not null,
  time_ms      bigint not null,
  actor        text   not null,
  correlation  text   not null,
  data         text   not null,
  internal     text   not null,
  hash         text   not null,
  batch        text   not null,
  unique (stream, version)
);

create table commits (
  commit_no     bigint not null primary key,
  last_position bigint not null,
  link          text   not null
);

create table batches (
  batch          text collate "C" not null primary key,
  commit_no      bigint not null,
  first_position bigint not null,
  last_position  bigint not null
);

-- One row, locked by whoever appends. time_ms is the time of the last event:
-- the next is never earlier. The page keeps room for the row's next versions.
create table head (
  one         bigint not null primary key check (one = 1),
  position    bigint not null,
  commit_no   bigint not null,
  link        text   not null,
  incarnation text   not null,
  time_ms     bigint not null
) with (fillfactor = 10);

-- expires_ms null: held until released.
create table claims (
  claim      text collate "C" not null primary key,
  stream     text   not null,
  position   bigint not null,
  expires_ms bigint
);

create index claims_by_expiry on claims (expires_ms)
  where expires_ms is not null;

create table budgets (
  budget      text collate "C" not null primary key,
  amount_left bigint not null check (amount_left >= 0),
  closed      bigint not null check (closed in (0, 1))
) with (fillfactor = 50);

-- Outside the folds: how many refusals were dropped since the last event.
create table limiters (
  stream  text collate "C" not null primary key,
  version bigint not null,
  dropped bigint not null
);

create table snapshots (
  stream       text collate "C" not null primary key,
  version      bigint not null,
  fold_version bigint not null,
  state        text   not null
);

create table lease (
  one        bigint not null primary key check (one = 1),
  holder     text   not null,
  epoch      bigint not null,
  expires_ms bigint not null
);

-- Streams whose event a projector could not apply.
create table parked_streams (
  stream   text collate "C" not null primary key,
  position bigint not null,
  reason   text   not null
);

-- Signed heads of the journal, not themselves events.
create table checkpoints (
  position    bigint not null primary key,
  commit_no   bigint not null,
  link        text   not null,
  incarnation text   not null,
  time_ms     bigint not null,
  signature   text   not null
);
