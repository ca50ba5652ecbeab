-- The audit once more, made of the events anew: a decision on what is another
-- tenant's is in both tenants' lists, and says whose credential it was.
-- row_id: id, then tenant, whose list it is in. owner: whose the resource is.
drop table if exists audit;
create table audit (
  row_id       text    not null primary key,
  id           text    not null,
  position     integer not null,
  tenant       text    not null,
  owner        text    not null,
  at           integer not null,
  principal    text    not null,
  actor_tenant text,
  credential   text,
  action       text    not null,
  resource     text    not null,
  event        text    not null,
  correlation  text    not null,
  details      text    not null
) without rowid;
create index if not exists audit_by_tenant on audit (tenant, id);
create index if not exists audit_by_resource on audit (tenant, resource, id);
create index if not exists audit_by_correlation
  on audit (tenant, correlation, id);
-- Nearly all are joins: these hold the others.
create index if not exists audit_by_principal on audit (tenant, principal, id)
  where principal <> 'machine';
create index if not exists audit_by_action on audit (tenant, action, id)
  where action <> 'node.joined';
