#pragma once

#include "tests/support/sample_journal.hpp"

#include <string>
#include <vector>

/// What may be done to a store that holds the sample journal with snapshots and
/// one checkpoint at its head, and what verify must say of it. Portable SQL.
namespace bc::events::testing {

struct tampering {
  std::string script;
  std::string found;
};

/// The sample journal with snapshots of a token and a node, signed at its head.
template <class Store>
checkpoint fill_signed_sample(Store& s) {
  fill_sample(*s.store, s.time);
  for (const auto& stream :
       {stream_of(sample_token), stream_of(sample_node(1))})
    REQUIRE(s.store->save_snapshot(stream, snapshot_now(*s.store, stream)));
  auto signed_head = add_sample_checkpoint(*s.store);
  check_whole(*s.store, {signed_head});
  return signed_head;
}

inline std::vector<tampering> row_tamperings() {
  return {{"update events set data = replace(data, 'ams-1', 'ams-2') "
           "where position = 2",
           "row 2 is altered"},
          {"update events set tenant = 'ten_x' where position = 7",
           "row 7 is altered"},
          {"update events set time_ms = time_ms - 1 where position = 9",
           "row 9 is altered"},
          {"delete from events where position = 6", "row 6 is missing"},
          {"delete from events where position = 13", "row 13 is missing"},
          {"delete from events where position = 1", "row 1 is missing"},
          {"insert into events select 14, 9, stream, version + 1, type, "
           "type_version, tenant, time_ms, actor, correlation, data, internal, "
           "hash, 'bat_x' from events where position = 11",
           "row 14 is altered"},
          // A walk from row 1 passes these over; a stream's reader does not.
          {"insert into events select -1, commit_no, stream, version + 1, "
           "type, type_version, tenant, time_ms, actor, correlation, data, "
           "internal, hash, batch from events where position = 11",
           "row -1 was inserted before the first"},
          {"insert into events select 0, commit_no, stream, version + 1, "
           "type, type_version, tenant, time_ms, actor, correlation, data, "
           "internal, hash, batch from events where position = 11",
           "row 0 was inserted before the first"},
          {"update events set position = 99 where position = 11;"
           "update events set position = 11 where position = 12;"
           "update events set position = 12 where position = 99",
           "row 11 is altered"},
          {"delete from claims where claim like 'hw:%1'",
           "is not as row 6 left it"},
          {"delete from claims where claim like 'spki:%2'",
           "is not as row 8 left it"},
          {"update claims set stream = 'node:x' where claim like 'hw:%3'",
           "is not as row 10 left it"},
          {"insert into claims values ('hw:other', 'node:x', 6, null)",
           "claim hw:other follows from no row"},
          {"update budgets set amount_left = amount_left + 1",
           "is not as its rows left it (13 left)"},
          {"update budgets set closed = 0", "is not as its rows left it"},
          {"delete from budgets", "is not as its rows left it"},
          {"update snapshots set state = replace(state, '13', '16') "
           "where stream like 'join_token:%'",
           "is not what its events up to row 13 give"},
          {"update snapshots set version = 4 where stream like 'join_token:%'",
           "is not what its events up to row 9 give"},
          {"update snapshots set version = 99 where stream like 'node:%'",
           "is beyond the stream's last event"},
          {"update snapshots set stream = 'nothing:x' where stream like "
           "'node:%'",
           "is of no kind that has snapshots"},
          {"insert into snapshots values ('tenant:x', 0, 1, '{}')",
           "is of no kind that has snapshots"}};
}

inline std::vector<tampering> checkpoint_tamperings() {
  return {
      {"update checkpoints set time_ms = time_ms + 1",
       "checkpoint at row 13 is not signed"},
      {"update checkpoints set link = substr(link, 2) || substr(link, 1, 1)",
       "checkpoint at row 13 is not signed"},
      {"update checkpoints set position = 12, commit_no = 7",
       "checkpoint at row 12 is not signed"},
      {"update checkpoints set position = 14",
       "row 14 is missing: the checkpoint at row 14"},
      {"insert into checkpoints select 4, 3, link, incarnation, time_ms, "
       "signature from checkpoints",
       "checkpoint at row 4 is not signed"},
      {"update checkpoints set incarnation = 'inc_x'",
       "a checkpoint after row 0 cannot be read"}};
}

}  // namespace bc::events::testing
