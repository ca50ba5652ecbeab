// DESIGN section 4: after a restore another incarnation begins, by an event.
#include "tests/support/sample_journal.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

const auto second = numbered_id<incarnation_id>(50);

batch starting(const incarnation_id& fresh, const incarnation_id& current) {
  auto decided = journal_log::decide({}, {fresh, current, start});
  REQUIRE(decided);
  stream_write w;
  w.stream = std::string{journal_stream};
  for (const auto& e : decided.value())
    w.events.push_back(journal_log::encode(e));
  return make_batch({w});
}

}  // namespace

TEST_CASE("journal stream: events read back as they were written") {
  journal_log::event e = journal_log::incarnation_started{
      second, numbered_id<incarnation_id>(1), start};
  auto write = journal_log::encode(e);
  envelope row;
  row.type = write.type;
  row.type_version = write.type_version;
  row.data = write.data;
  row.internal = write.internal;
  CHECK(journal_log::decode(row).value() == e);
  CHECK(moves_of(row).value() == write.effect);
  CHECK(write.effect.incarnation == second);
  row.type_version = 2;
  CHECK_FALSE(journal_log::decode(row));
}

TEST_CASE("journal stream: the incarnation that it has already is refused") {
  auto first = numbered_id<incarnation_id>(1);
  CHECK(journal_log::decide({}, {first, first, start}).error().code ==
        errc::invalid_input);
  journal_log::state s;
  s = journal_log::evolve(
      s, journal_log::incarnation_started{second, first, start});
  CHECK(s.version == 1);
  auto third = numbered_id<incarnation_id>(3);
  CHECK(journal_log::decide(s, {third, second, start}));
  CHECK(journal_log::decide(s, {third, first, start}).error().code ==
        errc::internal);
}

TEMPLATE_TEST_CASE(
    "journal stream: its event gives the head another "
    "incarnation, and verify follows",
    "[journal]", JOURNAL_STORES) {
  TestType s;
  fill_sample(*s.store, s.time);
  auto first = s->head().value().incarnation;
  auto before = add_sample_checkpoint(*s.store);
  won(append(*s.store, starting(second, first)));
  CHECK(s->head().value().incarnation == second);
  auto after = add_sample_checkpoint(*s.store);
  CHECK(before.incarnation == first);
  CHECK(after.incarnation == second);
  check_whole(*s.store, {before, after});
  won(append(*s.store, sample_adoption(2, s.store->now())));
  CHECK(s->head().value().incarnation == second);

  auto mixed = s->head().value();
  mixed.incarnation = first;
  auto wrong = sign_checkpoint(mixed, s.store->now(), sample_journal_key());
  CHECK_THAT(
      broken(*s.store, {wrong}),
      Catch::Contains("row 15 is said to be of incarnation " + first.str()));
}

TEMPLATE_TEST_CASE(
    "journal stream: an event that names another incarnation "
    "before it does not verify",
    "[journal]", JOURNAL_STORES) {
  TestType s;
  fill_sample(*s.store, s.time);
  add_sample_checkpoint(*s.store);
  won(append(*s.store, starting(second, numbered_id<incarnation_id>(60))));
  CHECK_THAT(broken(*s.store), Catch::Contains("row 14 is said to be of"));
}
