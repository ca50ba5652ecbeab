-- Joins that wait for a person, or waited. scope: the pool that has claimed it,
-- else its site, whose pools all see it. open: it may still end by itself;
-- `state` becomes 'expired' some time after expires_at, which alone decides.
-- place: which of its site's places it takes; null once it is not pending.
create table if not exists join_requests (
  id                   text not null primary key,
  scope                text not null,
  tenant               text not null,
  site                 text not null,
  pool                 text not null,
  attestor             text not null,
  state                text not null,
  open                 integer not null,
  csr_sha256           text not null,
  claims               text not null,
  hardware_key         text not null,
  hardware_key_trusted integer not null,
  mac                  text,
  ip                   text,
  vouched_by           text,
  boot_lease_epoch     integer,
  workflow             text,
  ek_hash              text,
  ek_cert              text,
  ek_manufacturer      text,
  ek_model             text,
  place                integer,
  created_at           integer not null,
  refreshed_at         integer,
  expires_at           integer not null,
  claims_changed       integer not null default 0,
  decided_at           integer,
  decided_by           text,
  reason               text,
  consumed_at          integer,
  node                 text
) without rowid;
create index if not exists join_requests_by_scope on join_requests (scope, id);
create index if not exists join_requests_by_state
  on join_requests (scope, state, id);
create index if not exists join_requests_by_expiry
  on join_requests (expires_at, id) where open = 1;
create index if not exists join_requests_by_place
  on join_requests (site, place) where place is not null;
