-- Sites and pools that change and end, tokens for one node, and who may see
-- what.

alter table sites add column dedicated_to text collate "C";
alter table sites add column deleted_at bigint;

alter table pools add column policy text collate "C" not null default '{}';
alter table pools add column archived_at bigint;
create index if not exists pools_live on pools (tenant, id)
  where archived_at is null;

alter table join_tokens add column node text collate "C";

-- The authorization projection: a row for each tenant that may see a site,
-- pool or node, tenant '*' is everyone. id: "<resource> <tenant>".
create table if not exists tenant_access (
  id       text collate "C" not null primary key,
  tenant   text collate "C" not null,
  kind     text collate "C" not null,
  resource text collate "C" not null
);
create index if not exists tenant_access_by_tenant
  on tenant_access (tenant, kind, resource);
