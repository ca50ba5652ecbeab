// DESIGN section 4: an export verifies without the store, and without what is
// internal; what was changed in it is never clean.
#include "events/export.hpp"

#include "tests/support/sample_journal.hpp"

#include <random>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

using lines = std::vector<std::string>;

lines exported(journal& j, bool with_internal) {
  lines out;
  auto done = write_export(j, with_internal, [&](std::string_view line) {
    out.emplace_back(line);
    return result<void>{ok()};
  });
  if (!done)
    FAIL(done.error().message);
  return out;
}

result<export_summary> check(const lines& text,
                             const verify_request& against = whole_request(),
                             std::vector<envelope>* rows = nullptr) {
  std::size_t next = 0;
  return read_export(
      [&]() -> result<std::optional<std::string_view>> {
        if (next == text.size())
          return std::optional<std::string_view>{};
        return std::optional{std::string_view{text[next++]}};
      },
      against,
      [&](const export_event& e) -> result<void> {
        if (rows != nullptr)
          rows->push_back(e.row);
        return ok();
      });
}

std::string refused(const lines& text) {
  auto done = check(text);
  REQUIRE_FALSE(done);
  return done.error().message;
}

struct sample {
  memory_store s;
  lines whole;    // with internal
  lines outward;  // without
  sample() {
    fill_sample(*s.store, s.time);
    add_sample_checkpoint(*s.store);
    won(append(*s.store, sample_adoption(2, s.store->now())));
    add_sample_checkpoint(*s.store);
    whole = exported(*s.store, true);
    outward = exported(*s.store, false);
  }
};

std::size_t line_with(const lines& text, const std::string& what) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i].find(what) != std::string::npos)
      return i;
  FAIL("no line with " << what);
  return 0;
}

void replace(std::string& text, const std::string& from,
             const std::string& to) {
  auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

TEMPLATE_TEST_CASE("export: what is read back is the journal", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  fill_sample(*s.store, s.time);
  add_sample_checkpoint(*s.store);
  std::vector<envelope> rows;
  auto done = check(exported(*s.store, true), whole_request(), &rows);
  REQUIRE(done);
  CHECK(done.value().checkpoints == 1);
  CHECK(done.value().header.head.link == s->head().value().link);
  auto all = everything(*s.store);
  REQUIRE(rows.size() == all.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].data == all[i].data);
    CHECK(rows[i].internal == all[i].internal);
    CHECK(row_hash(rows[i]) == all[i].hash);
  }
}

TEST_CASE(
    "export: what is internal is not in it, and it verifies all the "
    "same") {
  sample x;
  for (const auto& line : x.outward) {
    CHECK(line.find(sample_secret_hash) == std::string::npos);
    CHECK(line.find(sample_serial_number) == std::string::npos);
    CHECK(line.find("\"internal\"") == std::string::npos);
  }
  auto done = check(x.outward);
  REQUIRE(done);
  CHECK(done.value().checkpoints == 2);
  CHECK_FALSE(done.value().header.with_internal);
  CHECK(check(x.whole).value().header.with_internal);
}

TEST_CASE("export: an empty journal is a header and an end") {
  memory_store s;
  auto text = exported(*s.store, false);
  CHECK(text.size() == 2);
  CHECK(check(text));
}

TEST_CASE("export: JSON that another hand wrote keeps its bytes") {
  memory_store s;
  for (const auto* data :
       {"{ \"a\" : 1.0 }", "{\"a\":\"\\u0041\"}", "{\"a\":1e3}", "{}"})
    won(append(*s.store, one("t:1", event({}, data))));
  verify_request rows_alone;
  std::vector<envelope> rows;
  REQUIRE(check(exported(*s.store, true), rows_alone, &rows));
  CHECK(rows.at(0).data == "{ \"a\" : 1.0 }");
  CHECK(rows.at(1).data == "{\"a\":\"\\u0041\"}");
}

TEST_CASE("export: a store that does not verify is not exported", "[sqlite]") {
  sqlite_store s;
  fill_sample(*s.store, s.time);
  {
    auto raw = sqlite::connection::open(s.path, sqlite::mode::read_write);
    REQUIRE(raw);
    REQUIRE(raw.value()->execute(
        "update events set actor = 'x' where position = 5"));
  }
  auto done = write_export(*s.store, false,
                           [](std::string_view) { return result<void>{ok()}; });
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains("row 5 is altered"));
}

TEST_CASE("export: what was altered, left out, put in or moved is named") {
  sample x;
  auto text = GENERATE(false, true) ? x.whole : x.outward;
  auto row = line_with(text, "\"position\":9,");
  SECTION("altered data") {
    replace(text[line_with(text, "ams-1")], "ams-1", "ams-2");
    CHECK_THAT(refused(text), Catch::Contains("row 2 is altered"));
  }
  SECTION("another hash of what is internal") {
    if (text == x.whole)
      return;
    auto& line = text[row];
    auto at = line.find("internalHash") + 16;
    line[at] = line[at] == 'a' ? 'b' : 'a';
    CHECK_THAT(refused(text), Catch::Contains("row 9 is altered"));
  }
  SECTION("left out") {
    text.erase(text.begin() + static_cast<std::ptrdiff_t>(row));
    CHECK_THAT(refused(text), Catch::Contains("row 9 is missing"));
  }
  SECTION("twice") {
    auto copy = text[row];
    text.insert(text.begin() + static_cast<std::ptrdiff_t>(row), copy);
    CHECK_THAT(refused(text), Catch::Contains("row 10 is missing"));
  }
  SECTION("out of order") {
    std::swap(text[row], text[row + 1]);
    CHECK_THAT(refused(text), Catch::Contains("row 9 is missing"));
  }
  SECTION("cut off") {
    text.pop_back();
    CHECK_THAT(refused(text), Catch::Contains("cut off"));
    while (text.size() > 1) {
      text.pop_back();
      CHECK_FALSE(check(text));
    }
  }
  SECTION("something after the end") {
    text.push_back(text[row]);
    CHECK_FALSE(check(text));
  }
  SECTION("a link") {
    auto at = line_with(text, "\"kind\":\"commit\",\"commit\":3");
    replace(text[at], "\"link\":\"", "\"link\":\"0");
    CHECK_THAT(refused(text), Catch::Contains("commit 3"));
  }
  SECTION("a commit's line left out") {
    auto at = line_with(text, "\"kind\":\"commit\",\"commit\":3");
    text.erase(text.begin() + static_cast<std::ptrdiff_t>(at));
    CHECK_THAT(refused(text), Catch::Contains("row 5"));
  }
  SECTION("a checkpoint left out") {
    auto at = line_with(text, "\"kind\":\"checkpoint\"");
    text.erase(text.begin() + static_cast<std::ptrdiff_t>(at));
    CHECK_THAT(refused(text), Catch::Contains("digest"));
  }
  SECTION("a checkpoint forged") {
    auto at = line_with(text, "\"kind\":\"checkpoint\"");
    auto& line = text[at];
    auto sign = line.find("signature") + 12;
    line[sign] = line[sign] == 'a' ? 'b' : 'a';
    CHECK_THAT(refused(text),
               Catch::Contains("checkpoint at row 13 is not signed"));
  }
  SECTION("another incarnation") {
    auto other = numbered_id<incarnation_id>(5).str();
    auto& head = text.front();
    auto at = head.find("inc_");
    head.replace(at, other.size(), other);
    CHECK_THAT(refused(text), Catch::Contains("incarnation"));
  }
  SECTION("another form of the same line") {
    text[row].insert(1, " ");
    CHECK_THAT(
        refused(text),
        Catch::Contains("line " + std::to_string(row + 1) + " of the export"));
  }
}

TEST_CASE(
    "export: an outside checkpoint finds a tail that was left out whole") {
  sample x;
  memory_store other;
  fill_sample(*other.store, other.time);
  auto text = exported(*other.store, false);
  REQUIRE(check(text));
  auto last = x.s->read_checkpoints(13, 1).value().front();
  auto done = check(text, whole_request({last}));
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains("row 14 is missing"));
}

TEST_CASE("export: no random change of it is clean, and none crashes") {
  sample x;
  std::mt19937 random{11};
  auto below = [&](std::size_t n) { return random() % n; };
  for (const auto& whole : {x.outward, x.whole})
    for (int i = 0; i < 1500; ++i) {
      auto text = whole;
      auto l = below(text.size());
      auto& line = text[l];
      switch (below(8)) {
        case 0:
          line[below(line.size())] = static_cast<char>(random());
          break;
        case 1:
          line.erase(below(line.size()), 1 + below(20));
          break;
        case 2:
          line.insert(below(line.size()), 1, static_cast<char>(random()));
          break;
        case 3:
          text.erase(text.begin() + static_cast<std::ptrdiff_t>(l));
          break;
        case 4:
          std::swap(text[l], text[below(text.size())]);
          break;
        case 5:
          text.insert(text.begin() + static_cast<std::ptrdiff_t>(l),
                      text[below(text.size())]);
          break;
        case 6:
          line = line.substr(0, below(line.size()));
          break;
        default: {
          auto from = line.find_first_of("0123456789", below(line.size()));
          if (from != std::string::npos)
            line[from] = static_cast<char>('0' + below(10));
        }
      }
      if (text == whole)
        continue;
      INFO("change " << i << " of line " << l + 1);
      bool clean = static_cast<bool>(check(text));
      CHECK_FALSE(clean);
    }
}

TEST_CASE("export: hostile lines are INVALID_INPUT") {
  auto deep = std::string(200'000, '[');
  for (const auto& text :
       {std::string{}, std::string{"{}"}, std::string{"null"}, deep,
        std::string{"{\"kind\":1}"}, std::string{"{\"kind\":\"event\"}"},
        std::string{"{\"kind\":\"header\",\"format\":\"other\"}"},
        std::string(max_export_line + 1, ' '), std::string{"\xff\xfe"}}) {
    auto line = parse_export_line(text);
    REQUIRE_FALSE(line);
    CHECK(line.error().code == errc::invalid_input);
    CHECK(check({text}).error().code == errc::invalid_input);
  }
}
