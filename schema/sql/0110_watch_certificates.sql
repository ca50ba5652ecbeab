-- The token a node came by, when its certificate in force ends (null: it has
-- none), and which certificates a revocation list names: those revoked, by when
-- they end and by the position of the event.
alter table nodes add column token text;
alter table nodes add column certificate_ends integer;
alter table node_certs add column revoked_position integer;

create index if not exists nodes_by_token on nodes (tenant, token, id)
  where token is not null;
create index if not exists nodes_by_end on nodes (certificate_ends)
  where certificate_ends is not null;
create index if not exists node_certs_revoked on node_certs (not_after)
  where revoked_position is not null;
create index if not exists node_certs_by_revocation
  on node_certs (revoked_position) where revoked_position is not null;

-- Commands that wait, for the count of them.
create index if not exists commands_by_end on commands (expires_at)
  where completed_at is null;
