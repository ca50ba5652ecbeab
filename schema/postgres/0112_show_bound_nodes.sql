-- A node has a certificate for each renewal of its life: the newest are found
-- without the others.
-- First, since it takes longest: what follows locks nodes and join_requests.
drop index if exists node_certs_by_node;
create index if not exists node_certs_by_node
  on node_certs (node, not_before, serial);

-- The endorsement key a node is bound to, and which kinds of its identifiers its
-- inventory found changed (a JSON array).
alter table nodes add column ek_hash text collate "C";
alter table nodes add column changed_identifiers text collate "C";

-- A join that waited, whose machine became this node by another way. It stays
-- so until the request is closed, or the machine comes once more.
alter table join_requests add column joined_as text collate "C";
alter table join_requests add column superseded_at bigint;
create index if not exists join_requests_by_hardware
  on join_requests (hardware_key) where open = 1;
create index if not exists join_requests_by_ek
  on join_requests (ek_hash) where open = 1;
create index if not exists join_requests_by_mac
  on join_requests (mac) where open = 1;
create index if not exists join_requests_joined
  on join_requests (joined_as, id) where joined_as is not null;
