// DESIGN section 4: checkpoints signed with a journal key, in the store, in
// Kafka and in the log.
#include "events/checkpoint.hpp"

#include "base/encoding.hpp"
#include "tests/support/sample_journal.hpp"

#include <random>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

checkpoint sample() {
  head_row head{42, 7, std::string(64, 'a'), numbered_id<incarnation_id>(9)};
  return sign_checkpoint(head, start + 1ms, sample_journal_key());
}

bool holds(const checkpoint& c) {
  return is_signed_by(c, sample_journal_key().pub());
}

}  // namespace

TEST_CASE("checkpoint: the signature covers every field, the incarnation too") {
  auto c = sample();
  CHECK(holds(c));
  auto altered = [&](auto change) {
    auto other = c;
    change(other);
    return holds(other);
  };
  CHECK_FALSE(altered([](auto& o) { ++o.position; }));
  CHECK_FALSE(altered([](auto& o) { ++o.commit; }));
  CHECK_FALSE(altered([](auto& o) { o.link[0] = 'b'; }));
  CHECK_FALSE(altered([](auto& o) { o.time += 1ms; }));
  CHECK_FALSE(
      altered([](auto& o) { o.incarnation = numbered_id<incarnation_id>(8); }));
  CHECK_FALSE(altered([](auto& o) { o.signature.pop_back(); }));
  CHECK_FALSE(altered([](auto& o) { o.signature = "zz"; }));
  CHECK_FALSE(is_signed_by(c, pki::private_key::generate().pub()));
}

TEST_CASE("checkpoint: position and commit do not run into each other") {
  head_row a{11, 1, std::string(64, 'a'), numbered_id<incarnation_id>(9)};
  head_row b{1, 11, std::string(64, 'a'), numbered_id<incarnation_id>(9)};
  auto c = sign_checkpoint(a, start, sample_journal_key());
  c.position = b.position;
  c.commit = b.commit;
  CHECK_FALSE(holds(c));
}

TEST_CASE("checkpoint: a log line and a JSON value read back as they were") {
  auto c = sample();
  auto line = checkpoint_line(c);
  auto in_a_log = "[2026-11-29 18:00:00.001] [info] " + line + "\r";
  for (const auto& text :
       {line, in_a_log, checkpoint_json(c), checkpoint_json(c) + "\r"}) {
    INFO(text);
    auto found = find_checkpoint(text);
    REQUIRE(found);
    REQUIRE(found.value());
    CHECK(*found.value() == c);
    CHECK(holds(*found.value()));
  }
  CHECK(parse_checkpoint_json(checkpoint_json(c)).value() == c);
}

TEST_CASE("checkpoint: other lines hold none, broken ones are INVALID_INPUT") {
  for (const auto* text :
       {"", "checkpoint", "a checkpoint was signed", "{\"kind\":\"event\"}",
        "{\"kind\":\"event\",\"x\":\"checkpoint incarnation=inc_1\"}"}) {
    INFO(text);
    auto found = find_checkpoint(text);
    REQUIRE(found);
    CHECK_FALSE(found.value());
  }
  auto line = checkpoint_line(sample());
  auto json = checkpoint_json(sample());
  for (const auto& text :
       {std::string{"checkpoint incarnation=x"},
        line.substr(0, line.size() - 1), line + "0",
        json.substr(0, json.size() - 1), json + "x",
        "{\"kind\":\"checkpoint\",\"more\":1," + json.substr(21)}) {
    INFO(text);
    auto found = find_checkpoint(text);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == errc::invalid_input);
  }
}

TEST_CASE("checkpoint: no change of a character leaves another that holds") {
  auto c = sample();
  std::mt19937 random{7};
  for (const auto& whole : {checkpoint_line(c), checkpoint_json(c)})
    for (int i = 0; i < 2000; ++i) {
      auto text = whole;
      auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.insert(at, 1, static_cast<char>(32 + random() % 95));
      }
      auto found = find_checkpoint(text);
      if (!found || !found.value() || *found.value() == c)
        continue;
      INFO(text);
      CHECK_FALSE(holds(*found.value()));
    }
}

TEST_CASE("checkpoint: the journal key goes through one line of text") {
  auto pub = sample_journal_key().pub();
  auto text = journal_key_text(pub);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(parse_journal_key(text + "\n").value() == pub);
  for (const auto& bad : {std::string{}, std::string{"x"}, text.substr(4),
                          text + text, to_base64(bytes(91))}) {
    auto read = parse_journal_key(bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_input);
  }
}

TEMPLATE_TEST_CASE("checkpoint: a store keeps them by position, under a lease",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  fill_sample(*s.store, s.time);
  CHECK(s->read_checkpoints(0, 10).value().empty());
  auto first = add_sample_checkpoint(*s.store);
  won(append(*s.store, sample_adoption(2, s.store->now())));
  auto second = add_sample_checkpoint(*s.store);
  CHECK(s->read_checkpoints(0, 10).value() ==
        std::vector<checkpoint>{first, second});
  CHECK(s->read_checkpoints(0, 1).value() == std::vector<checkpoint>{first});
  CHECK(s->read_checkpoints(first.position, 10).value() ==
        std::vector<checkpoint>{second});
  check_whole(*s.store, {first, second});
  auto late = s->add_checkpoint(second, 99);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == errc::invalid_state);
}
