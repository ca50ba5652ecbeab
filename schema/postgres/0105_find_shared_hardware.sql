-- Permanent MACs that several nodes have (CASES 54). id: node, then the MAC's
-- SHA-256. Who had a MAC first is who said it at the lowest position.

create table if not exists node_macs (
  id       text collate "C" not null primary key,
  node     text collate "C" not null,
  tenant   text collate "C" not null,
  mac      text collate "C" not null,
  position bigint not null
);
create index if not exists node_macs_by_mac on node_macs (mac, position);

-- A MAC of a node that another had before, and whether it was told of.
create table if not exists shared_macs (
  id           text collate "C" not null primary key,
  node         text collate "C" not null,
  tenant       text collate "C" not null,
  other        text collate "C" not null,
  other_tenant text collate "C" not null,
  mac          text collate "C" not null,
  told_at      bigint
);
create index if not exists shared_macs_by_other on shared_macs (other);
create index if not exists shared_macs_untold on shared_macs (node, other, mac)
  where told_at is null;
