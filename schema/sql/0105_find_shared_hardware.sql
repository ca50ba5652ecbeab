-- Permanent MACs that several nodes have (CASES 54). id: node, then the MAC's
-- SHA-256. Who had a MAC first is who said it at the lowest position.

create table if not exists node_macs (
  id       text    not null primary key,
  node     text    not null,
  tenant   text    not null,
  mac      text    not null,
  position integer not null
) without rowid;
create index if not exists node_macs_by_mac on node_macs (mac, position);

-- A MAC of a node that another had before, and whether it was told of.
create table if not exists shared_macs (
  id           text    not null primary key,
  node         text    not null,
  tenant       text    not null,
  other        text    not null,
  other_tenant text    not null,
  mac          text    not null,
  told_at      integer
) without rowid;
create index if not exists shared_macs_by_other on shared_macs (other);
create index if not exists shared_macs_untold on shared_macs (node, other, mac)
  where told_at is null;
