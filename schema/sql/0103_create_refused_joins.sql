-- Recent refusals, for joins.explain (spec: DESIGN section 7): one row for
-- each CSR that an owner refused for one reason with one token. Beside the
-- journal and not folded from it; of each owner and reason the newest stay.
-- details: JSON for the owner alone. batch: the last write that counted here.

create table refused_joins (
  owner      text    not null,
  csr_sha256 text    not null,
  reason     text    not null,
  token      text    not null,
  attestor   text    not null,
  role       text    not null,
  first_ms   integer not null,
  last_ms    integer not null,
  times      integer not null,
  details    text    not null,
  batch      text    not null,
  primary key (owner, csr_sha256, reason, token)
) without rowid;

create index refused_joins_by_age
  on refused_joins (owner, reason, last_ms, csr_sha256, token);
