-- The audit once more, made of the events anew: a decision on what is another
-- tenant's is in both tenants' lists, and says whose credential it was.
-- row_id: id, then tenant, whose list it is in. owner: whose the resource is.
drop table if exists audit;
create table audit (
  row_id       text collate "C" not null primary key,
  id           text collate "C" not null,
  position     bigint not null,
  tenant       text collate "C" not null,
  owner        text collate "C" not null,
  at           bigint not null,
  principal    text collate "C" not null,
  actor_tenant text collate "C",
  credential   text collate "C",
  action       text collate "C" not null,
  resource     text collate "C" not null,
  event        text collate "C" not null,
  correlation  text collate "C" not null,
  details      text collate "C" not null
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
