#include "ops/store/new_incarnation.hpp"

#include "events/journal_stream.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/store/append.hpp"
#include "pki/digest.hpp"

#include <unistd.h>

namespace bc::store {

namespace {

namespace journal_log = events::journal_log;

constexpr std::size_t page = 1000;
// Long enough for one append, and over soon if this process dies.
constexpr seconds lease_time{60};

result<journal_log::state> load(events::journal& journal) {
  journal_log::state s;
  for (;;) {
    BC_TRY(rows, journal.read_stream(events::journal_stream, s.version, page));
    for (const auto& row : rows) {
      BC_TRY(e, journal_log::decode(row));
      s = journal_log::evolve(std::move(s), e);
    }
    if (rows.size() < page)
      return s;
  }
}

fault not_done() {
  return fail(errc::conflict,
              "the journal was written to meanwhile; nothing was done");
}

result<incarnation_change> change(events::journal& journal,
                                  const events::lease& held) {
  BC_TRY(state, load(journal));
  BC_TRY(head, journal.head());
  auto now = journal.now();
  auto fresh = pki::mint<incarnation_id>(now);
  BC_TRY(decided, journal_log::decide(state, {fresh, head.incarnation, now}));
  auto b = serve::new_batch(now);
  // Not after a server may have taken the lease.
  b.valid_until = held.expires_at;
  events::stream_write write;
  write.stream = std::string{events::journal_stream};
  write.expected_version = state.version;
  for (const auto& e : decided)
    write.events.push_back(journal_log::encode(e));
  b.writes.push_back(std::move(write));
  BC_TRY(done, append_known(journal, b, not_done()).done);
  return incarnation_change{head.incarnation, fresh,
                            done.events.back().position};
}

}  // namespace

result<incarnation_change> start_incarnation(events::journal& journal) {
  auto holder = "new-incarnation pid " + std::to_string(::getpid());
  BC_TRY(lease, journal.acquire_lease(holder, lease_time));
  if (!lease)
    return fail(errc::invalid_state,
                "a server holds the store's lease; stop every server first "
                "(one that was killed lets go within a minute)");
  auto done = change(journal, *lease);
  // Not giving it back costs the next server a minute, no more.
  static_cast<void>(journal.acquire_lease(holder, seconds{0}));
  return done;
}

}  // namespace bc::store
