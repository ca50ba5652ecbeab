-- Sites and pools that change and end, tokens for one node, and who may see
-- what.

alter table sites add column dedicated_to text;
alter table sites add column deleted_at integer;

alter table pools add column policy text not null default '{}';
alter table pools add column archived_at integer;
create index if not exists pools_live on pools (tenant, id)
  where archived_at is null;

alter table join_tokens add column node text;

-- The authorization projection: a row for each tenant that may see a site,
-- pool or node, tenant '*' is everyone. id: "<resource> <tenant>".
create table if not exists tenant_access (
  id       text not null primary key,
  tenant   text not null,
  kind     text not null,
  resource text not null
) without rowid;
create index if not exists tenant_access_by_tenant
  on tenant_access (tenant, kind, resource);
