-- The read models: what lists and gets are served from. All of it can be made
-- again from the journal. Times are milliseconds since 1970 in UTC. Texts are
-- in the order of their bytes ("C"), whatever the database's own order is: an
-- id is a cursor, and a list has one order on every store.

create table if not exists tenants (
  id         text collate "C" not null primary key,
  name       text collate "C" not null,
  root       bigint not null,
  created_at bigint not null
);

create table if not exists sites (
  id         text collate "C" not null primary key,
  owner      text collate "C" not null,
  name       text collate "C" not null,
  kind       text collate "C" not null,
  created_at bigint not null
);
create index if not exists sites_by_owner on sites (owner, id);
create index if not exists sites_shared on sites (kind, id);

create table if not exists pools (
  id         text collate "C" not null primary key,
  tenant     text collate "C" not null,
  site       text collate "C" not null,
  name       text collate "C" not null,
  agent      text collate "C" not null,
  created_at bigint not null
);
create index if not exists pools_by_tenant on pools (tenant, id);

-- `lapsed` is set some time after expires_at, so that a list of live tokens
-- does not walk through all that ever expired; expires_at alone decides.
create table if not exists join_tokens (
  id                  text collate "C" not null primary key,
  tenant              text collate "C" not null,
  pool                text collate "C" not null,
  site                text collate "C" not null,
  role                text collate "C" not null,
  max_uses            bigint not null,
  uses_left           bigint not null,
  expect_product_uuid text collate "C",
  expect_serial       text collate "C",
  expect_mac          text collate "C",
  expect_gpu_uuid     text collate "C",
  allow_reclaim       bigint not null,
  hosted              text collate "C",
  created_at          bigint not null,
  expires_at          bigint not null,
  revoked_at          bigint,
  lapsed              bigint not null default 0
);
create index if not exists join_tokens_by_pool
  on join_tokens (tenant, pool, id);
create index if not exists join_tokens_live
  on join_tokens (tenant, pool, id, expires_at)
  where revoked_at is null and uses_left > 0 and lapsed = 0;
create index if not exists join_tokens_by_expiry
  on join_tokens (expires_at, id) where lapsed = 0;

create table if not exists nodes (
  id                   text collate "C" not null primary key,
  tenant               text collate "C" not null,
  site                 text collate "C" not null,
  pool                 text collate "C" not null,
  status               text collate "C" not null,
  attestor             text collate "C" not null,
  hardware_key         text collate "C" not null,
  hardware_key_trusted bigint not null,
  hostname             text collate "C" not null,
  node_key             text collate "C" not null,
  role                 text collate "C" not null,
  generation           bigint not null,
  joined_at            bigint not null,
  adopted_at           bigint,
  certificate          text collate "C" not null
);
create index if not exists nodes_by_tenant on nodes (tenant, id);
create index if not exists nodes_by_pool on nodes (tenant, pool, id);

create table if not exists node_certs (
  serial      text collate "C" not null primary key,
  node        text collate "C" not null,
  role        text collate "C" not null,
  generation  bigint not null,
  spki_sha256 text collate "C" not null,
  not_before  bigint not null,
  not_after   bigint not null,
  revoked_at  bigint,
  der         text collate "C" not null
);
create index if not exists node_certs_by_node on node_certs (node, serial);

-- grants: a JSON array. The secret's hash stays in the journal.
create table if not exists credentials (
  id         text collate "C" not null primary key,
  tenant     text collate "C" not null,
  principal  text collate "C" not null,
  grants     text collate "C" not null,
  created_at bigint not null,
  revoked_at bigint
);
create index if not exists credentials_by_tenant on credentials (tenant, id);

-- The last event that is in the tables above.
create table if not exists projection_checkpoint (
  one      bigint not null primary key check (one = 1),
  position bigint not null
);
insert into projection_checkpoint (one, position) values (1, 0)
  on conflict do nothing;
