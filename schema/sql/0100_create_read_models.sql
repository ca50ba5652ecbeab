-- The read models: what lists and gets are served from. All of it can be made
-- again from the journal. Times are milliseconds since 1970 in UTC.

create table if not exists tenants (
  id         text    not null primary key,
  name       text    not null,
  root       integer not null,
  created_at integer not null
) without rowid;

create table if not exists sites (
  id         text    not null primary key,
  owner      text    not null,
  name       text    not null,
  kind       text    not null,
  created_at integer not null
) without rowid;
create index if not exists sites_by_owner on sites (owner, id);
create index if not exists sites_shared on sites (kind, id);

create table if not exists pools (
  id         text    not null primary key,
  tenant     text    not null,
  site       text    not null,
  name       text    not null,
  agent      text    not null,
  created_at integer not null
) without rowid;
create index if not exists pools_by_tenant on pools (tenant, id);

-- `lapsed` is set some time after expires_at, so that a list of live tokens
-- does not walk through all that ever expired; expires_at alone decides.
create table if not exists join_tokens (
  id                  text    not null primary key,
  tenant              text    not null,
  pool                text    not null,
  site                text    not null,
  role                text    not null,
  max_uses            integer not null,
  uses_left           integer not null,
  expect_product_uuid text,
  expect_serial       text,
  expect_mac          text,
  expect_gpu_uuid     text,
  allow_reclaim       integer not null,
  hosted              text,
  created_at          integer not null,
  expires_at          integer not null,
  revoked_at          integer,
  lapsed              integer not null default 0
) without rowid;
create index if not exists join_tokens_by_pool
  on join_tokens (tenant, pool, id);
create index if not exists join_tokens_live
  on join_tokens (tenant, pool, id, expires_at)
  where revoked_at is null and uses_left > 0 and lapsed = 0;
create index if not exists join_tokens_by_expiry
  on join_tokens (expires_at, id) where lapsed = 0;

create table if not exists nodes (
  id                   text    not null primary key,
  tenant               text    not null,
  site                 text    not null,
  pool                 text    not null,
  status               text    not null,
  attestor             text    not null,
  hardware_key         text    not null,
  hardware_key_trusted integer not null,
  hostname             text    not null,
  node_key             text    not null,
  role                 text    not null,
  generation           integer not null,
  joined_at            integer not null,
  adopted_at           integer,
  certificate          text    not null
) without rowid;
create index if not exists nodes_by_tenant on nodes (tenant, id);
create index if not exists nodes_by_pool on nodes (tenant, pool, id);

create table if not exists node_certs (
  serial      text    not null primary key,
  node        text    not null,
  role        text    not null,
  generation  integer not null,
  spki_sha256 text    not null,
  not_before  integer not null,
  not_after   integer not null,
  revoked_at  integer,
  der         text    not null
) without rowid;
create index if not exists node_certs_by_node on node_certs (node, serial);

-- grants: a JSON array. The secret's hash stays in the journal.
create table if not exists credentials (
  id         text    not null primary key,
  tenant     text    not null,
  principal  text    not null,
  grants     text    not null,
  created_at integer not null,
  revoked_at integer
) without rowid;
create index if not exists credentials_by_tenant on credentials (tenant, id);

-- The last event that is in the tables above.
create table if not exists projection_checkpoint (
  one      integer not null primary key check (one = 1),
  position integer not null
);
insert into projection_checkpoint (one, position) values (1, 0)
  on conflict do nothing;
