-- The journal and what is folded from it (spec: DESIGN sections 3 and 4).

create table events (
  position     integer primary key,
  commit_no    integer not null,
  stream       text    not null,
  version      integer not null,
  type         text    not null,
  type_version integer not null,
  tenant       text    not null,
  time_ms      integer not null,
  actor        text    not null,
  correlation  text    not null,
  data         text    not null,
  internal     text    not null,
  hash         text    not null,
  batch        text    not null,
  unique (stream, version)
);

create table commits (
  commit_no     integer primary key,
  last_position integer not null,
  link          text    not null
);

create table batches (
  batch          text    primary key,
  commit_no      integer not null,
  first_position integer not null,
  last_position  integer not null
) without rowid;

-- One row. time_ms is the time of the last event: the next is never earlier.
create table head (
  only        integer primary key check (only = 1),
  position    integer not null,
  commit_no   integer not null,
  link        text    not null,
  incarnation text    not null,
  time_ms     integer not null
);

-- expires_ms null: held until released.
create table claims (
  claim      text    primary key,
  stream     text    not null,
  position   integer not null,
  expires_ms integer
) without rowid;

create index claims_by_expiry on claims (expires_ms)
  where expires_ms is not null;

create table budgets (
  budget      text    primary key,
  amount_left integer not null check (amount_left >= 0),
  closed      integer not null check (closed in (0, 1))
) without rowid;

-- Outside the folds: how many refusals were dropped since the last event.
create table limiters (
  stream  text    primary key,
  version integer not null,
  dropped integer not null
) without rowid;

create table snapshots (
  stream       text    primary key,
  version      integer not null,
  fold_version integer not null,
  state        text    not null
) without rowid;

create table lease (
  only       integer primary key check (only = 1),
  holder     text    not null,
  epoch      integer not null,
  expires_ms integer not null
);

-- Streams whose event a projector could not apply.
create table parked_streams (
  stream   text    primary key,
  position integer not null,
  reason   text    not null
) without rowid;
