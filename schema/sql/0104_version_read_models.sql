-- Which version of rows the read models hold (projections/checkpoint.hpp). 0 is
-- from before there were versions.
alter table projection_checkpoint add column version integer not null default 0;
