-- Recent refusals, for joins.explain (spec: DESIGN section 7), as in sql/0103.
-- Keys are ordered by their bytes.

create table refused_joins (
  owner      text collate "C" not null,
  csr_sha256 text collate "C" not null,
  reason     text collate "C" not null,
  token      text collate "C" not null,
  attestor   text   not null,
  role       text   not null,
  first_ms   bigint not null,
  last_ms    bigint not null,
  times      bigint not null,
  details    text   not null,
  batch      text   not null,
  primary key (owner, csr_sha256, reason, token)
);

create index refused_joins_by_age
  on refused_joins (owner, reason, last_ms, csr_sha256, token);
