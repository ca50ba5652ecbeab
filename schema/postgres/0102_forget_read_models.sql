-- What is in the read models lacks what is new: they are made again from the
-- journal's first event on, by `better-compute migrate` at once.
truncate tenants, sites, pools, join_tokens, nodes, node_certs, credentials,
  tenant_access, audit;
delete from parked_streams;
update projection_checkpoint set position = 0;
