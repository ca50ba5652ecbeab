// What the background duties tell of themselves.
#include "ops/serve/duties.hpp"

#include "events/directory.hpp"
#include "events/sqlite.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

using namespace bc;

namespace {

/// The log, with a level, in a text; the one of before is there again at the
/// end.
class captured_log {
 public:
  explicit captured_log(spdlog::level::level_enum level) {
    auto logger = std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_level(level);
    spdlog::set_default_logger(std::move(logger));
  }
  ~captured_log() { spdlog::set_default_logger(before_); }
  /// Once nothing logs any more.
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

void add_tenant(events::journal& journal, time_point now) {
  auto id = pki::mint<tenant_id>(now);
  events::batch b;
  b.id = pki::mint<batch_id>(now);
  b.actor = "system";
  b.writes.push_back({events::stream_of(id),
                      id.str(),
                      0,
                      {events::tenant::encode(
                          events::tenant::created{id, "acme", true, now})}});
  REQUIRE(journal.append({&b, 1}));
}

}  // namespace

TEST_CASE("duties: checkpoints are in the log whatever its level", "[ops]") {
  temporary_folder dir;
  bc::system_clock time;
  store::location where{store::kind::sqlite, dir / "journal.db"};
  REQUIRE(store::migrate(where, time));
  auto opened = store::open(where, time);
  REQUIRE(opened);
  auto& journal = *opened.value().journal;
  add_tenant(journal, time.now());
  auto keys = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("compute.example.com", time.now()).value());
  const bool elsewhere = GENERATE(false, true);
  std::string kept;
  serve::duties_options o{&opened.value(), keys, {}};
  if (elsewhere)
    o.checkpoints = [&kept](std::string_view line) { kept = line; };
  captured_log log{spdlog::level::err};

  auto running = serve::duties::start(std::move(o));
  REQUIRE(running);
  CHECK(test::eventually(
      [&] { return journal.read_checkpoints(0, 1).value().size() == 1; }));
  running.value()->stop();
  const auto& text = elsewhere ? kept : log.text();
  CHECK_THAT(text, Catch::Contains("checkpoint incarnation=inc_") &&
                       Catch::Contains(" position=1 "));
  CHECK((elsewhere ? log.text() : kept).empty());
}

TEST_CASE("duties: parked streams are counted, on SQLite too", "[ops]") {
  temporary_folder dir;
  bc::system_clock time;
  store::location where{store::kind::sqlite, dir / "journal.db"};
  REQUIRE(store::migrate(where, time));
  auto opened = store::open(where, time);
  REQUIRE(opened);
  auto running = serve::duties::start({&opened.value(), nullptr, {}});
  REQUIRE(running);
  auto parked = [&] {
    serve::health h;
    running.value()->look(h);
    CHECK(h.store_problem.empty());
    return h.parked_streams;
  };
  auto run = [&](const char* script) {
    auto db = sqlite::connection::open(where.target, sqlite::mode::read_write);
    REQUIRE(db);
    REQUIRE(db.value()->execute(script));
  };
  CHECK(parked() == 0);
  run("insert into parked_streams (stream, position, reason)"
      " values ('node:x', 2, 'of an unknown type')");
  CHECK(parked() == 1);
  run("delete from parked_streams");
  CHECK(parked() == 0);
  running.value()->stop();
}
