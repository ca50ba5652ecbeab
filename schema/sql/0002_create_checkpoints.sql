-- Signed heads of the journal, not themselves events (spec: DESIGN section 4).

create table checkpoints (
  position    integer primary key,
  commit_no   integer not null,
  link        text    not null,
  incarnation text    not null,
  time_ms     integer not null,
  signature   text    not null
);
