-- When each gateway was last heard of by some server, by the store's clock.
-- Beside the journal: nothing is decided from it but that a gateway is lost.
create table if not exists gateways_seen (
  gateway text collate "C" not null primary key,
  seen_ms bigint not null
);
