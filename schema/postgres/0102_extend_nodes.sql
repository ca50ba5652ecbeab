-- Nodes that are cordoned, retired or suspected of clones, why a certificate
-- ended, and the audit.

alter table nodes add column trust text collate "C" not null default 'tenant-owned';
alter table nodes add column acceptance bigint not null default 0;
alter table nodes add column cordoned_at bigint;
alter table nodes add column cordon_reason text collate "C";
alter table nodes add column retired_at bigint;
alter table nodes add column clone_suspected_at bigint;

alter table node_certs add column revoked_for text collate "C";

-- Retired nodes never go away, so lists of the others do not walk by them.
drop index if exists nodes_by_tenant;
create index if not exists nodes_by_tenant on nodes (tenant, id)
  where retired_at is null;
drop index if exists nodes_by_pool;
create index if not exists nodes_by_pool on nodes (tenant, pool, id)
  where retired_at is null;
create index if not exists nodes_by_site on nodes (tenant, site, id)
  where retired_at is null;
create index if not exists nodes_by_status on nodes (tenant, status, id)
  where status <> 'adopted';

-- A row for each decision (events/audit.hpp). id: time, then position.
create table if not exists audit (
  id          text collate "C" not null primary key,
  position    bigint not null,
  tenant      text collate "C" not null,
  at          bigint not null,
  principal   text collate "C" not null,
  action      text collate "C" not null,
  resource    text collate "C" not null,
  event       text collate "C" not null,
  correlation text collate "C" not null,
  details     text collate "C" not null
);
create index if not exists audit_by_tenant on audit (tenant, id);
create index if not exists audit_by_resource on audit (tenant, resource, id);
create index if not exists audit_by_correlation
  on audit (tenant, correlation, id);
-- Nearly all are joins: these hold the others.
create index if not exists audit_by_principal on audit (tenant, principal, id)
  where principal <> 'machine';
create index if not exists audit_by_action on audit (tenant, action, id)
  where action <> 'node.joined';
