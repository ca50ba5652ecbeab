-- Joins that wait for a person, or waited. scope: the pool that has claimed it,
-- else its site, whose pools all see it. open: it may still end by itself;
-- `state` becomes 'expired' some time after expires_at, which alone decides.
-- place: which of its site's places it takes; null once it is not pending.
create table if not exists join_requests (
  id                   text collate "C" not null primary key,
  scope                text collate "C" not null,
  tenant               text collate "C" not null,
  site                 text collate "C" not null,
  pool                 text collate "C" not null,
  attestor             text collate "C" not null,
  state                text collate "C" not null,
  open                 bigint not null,
  csr_sha256           text collate "C" not null,
  claims               text collate "C" not null,
  hardware_key         text collate "C" not null,
  hardware_key_trusted bigint not null,
  mac                  text collate "C",
  ip                   text collate "C",
  vouched_by           text collate "C",
  boot_lease_epoch     bigint,
  workflow             text collate "C",
  ek_hash              text collate "C",
  ek_cert              text collate "C",
  ek_manufacturer      text collate "C",
  ek_model             text collate "C",
  place                bigint,
  created_at           bigint not null,
  refreshed_at         bigint,
  expires_at           bigint not null,
  claims_changed       bigint not null default 0,
  decided_at           bigint,
  decided_by           text collate "C",
  reason               text collate "C",
  consumed_at          bigint,
  node                 text collate "C"
);
create index if not exists join_requests_by_scope on join_requests (scope, id);
create index if not exists join_requests_by_state
  on join_requests (scope, state, id);
create index if not exists join_requests_by_expiry
  on join_requests (expires_at, id) where open = 1;
create index if not exists join_requests_by_place
  on join_requests (site, place) where place is not null;
