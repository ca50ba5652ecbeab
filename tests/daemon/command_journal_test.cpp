// A command is run once, whatever crashes (spec: DESIGN section 3; issue 5).
#include "daemon/command_journal.hpp"

#include "base/fault_point.hpp"
#include "tests/support/forked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <set>
#include <sys/stat.h>

using namespace bc;
using namespace bc::daemon;
using answer = command_journal::answer;

namespace {

const time_point now = from_millis(1'764'000'000'000);
constexpr milliseconds hour = std::chrono::hours{1};

wire::command_body command(const std::string& id, time_point issued = now) {
  return {id,   "node_1",          "ping",
          "{}", to_millis(issued), to_millis(issued + hour)};
}

struct world {
  temporary_folder home{quick_parent()};
  private_dir folder = private_dir::open(home / "data").value();
  std::filesystem::path file = home / "data" / "journal.db";

  [[nodiscard]] command_journal open() const {
    auto out = command_journal::open(folder);
    REQUIRE(out);
    return std::move(out).value();
  }
  /// Begins, finishes and, when asked, records a command.
  static void run(command_journal& j, const std::string& id, bool recorded) {
    REQUIRE(j.begin(command(id), now).what == answer::begun);
    REQUIRE(j.finish({id, true, "out of " + id}));
    if (recorded)
      REQUIRE(j.recorded(id));
  }
};

std::vector<std::string> ids(const std::vector<wire::command_result>& all) {
  std::vector<std::string> out;
  for (const auto& r : all)
    out.push_back(r.command_id);
  return out;
}

}  // namespace

TEST_CASE("command journal: what ran is known, its result waits, then goes") {
  world w;
  {
    auto j = w.open();
    w.run(j, "cmd_2", false);
    w.run(j, "cmd_1", false);
    w.run(j, "cmd_3", true);
    CHECK(ids(j.waiting()) == std::vector<std::string>{"cmd_2", "cmd_1"});
  }
  struct stat about {};
  REQUIRE(::stat(w.file.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  {
    auto j = w.open();
    for (const auto* id : {"cmd_1", "cmd_2", "cmd_3"})
      CHECK(j.begin(command(id), now).what == answer::known);
    auto waiting = j.waiting();
    CHECK(ids(waiting) == std::vector<std::string>{"cmd_2", "cmd_1"});
    CHECK(waiting[0].output == "out of cmd_2");
    CHECK(waiting[0].succeeded);
    REQUIRE(j.recorded("cmd_2"));
    REQUIRE(j.recorded("cmd_unknown"));
  }
  CHECK(ids(w.open().waiting()) == std::vector<std::string>{"cmd_1"});
}

TEST_CASE("command journal: begun and not finished is interrupted, for good") {
  world w;
  CHECK(bc::testing::in_child([&] {
          auto j = command_journal::open(w.folder).value();
          (void)j.begin(command("cmd_1"), now);
        }) == 0);
  for (int restart = 0; restart < 2; ++restart) {
    auto j = w.open();
    REQUIRE(j.waiting().size() == 1);
    CHECK_FALSE(j.waiting()[0].succeeded);
    CHECK(j.waiting()[0].output == R"({"error":"interrupted"})");
    CHECK(j.begin(command("cmd_1"), now).what == answer::known);
  }
}

TEST_CASE("command journal: a line that was cut while it was written") {
  world w;
  for (int at = 1; at <= 4; ++at) {
    INFO("append " << at);
    std::filesystem::remove(w.file);
    CHECK(bc::testing::in_child([&] {
            auto j = command_journal::open(w.folder).value();
            arm(fault_point::daemon_half_append, fault_action::exit, at);
            (void)j.begin(command("cmd_1"), now);
            (void)j.finish({"cmd_1", true, "out"});
            (void)j.recorded("cmd_1");
            (void)j.begin(command("cmd_2"), now);
          }) == 99);
    auto j = w.open();
    auto first = j.begin(command("cmd_1"), now).what;
    // Before its line is whole it did not run.
    CHECK(first == (at == 1 ? answer::begun : answer::known));
    if (at == 2)
      CHECK(j.waiting().at(0).output == R"({"error":"interrupted"})");
    if (at == 3)
      CHECK(j.waiting().at(0).output == "out");
    if (at == 4)
      CHECK(j.waiting().empty());
    // And the next line is not written behind half a one.
    w.run(j, "cmd_9", false);
    CHECK(w.open().begin(command("cmd_9"), now).what == answer::known);
  }
}

TEST_CASE("command journal: a full disk") {
  world w;
  auto j = w.open();
  w.run(j, "cmd_0", true);
  SECTION("the beginning is not written: not run, and later it is") {
    arm(fault_point::daemon_half_append, fault_action::error);
    auto verdict = j.begin(command("cmd_1"), now);
    CHECK(verdict.what == answer::unwritten);
    CHECK_THAT(verdict.why, Catch::Contains("journal.db"));
    CHECK_FALSE(j.knows("cmd_1"));
    w.run(j, "cmd_1", false);
  }
  SECTION("the result is not written: kept, and written with the next line") {
    REQUIRE(j.begin(command("cmd_1"), now).what == answer::begun);
    arm(fault_point::daemon_half_append, fault_action::error);
    CHECK_FALSE(j.finish({"cmd_1", true, "out of cmd_1"}));
    CHECK(j.waiting().size() == 1);
    REQUIRE(j.recorded("cmd_unknown"));
  }
  disarm_all();
  auto again = w.open();
  REQUIRE(again.waiting().size() == 1);
  CHECK(again.waiting()[0].output == "out of cmd_1");
  CHECK(again.knows("cmd_0"));
}

TEST_CASE("command journal: lines lost in the middle: never run twice") {
  world w;
  {
    auto j = w.open();
    w.run(j, "cmd_1", true);
    w.run(j, "cmd_2", false);
  }
  auto text = read_text(w.file);
  text[text.find("cmd_1") - 3] = '\n';
  write_text(w.file, text);
  auto restarts = GENERATE(0, 1);
  for (int i = 0; i < restarts; ++i)
    (void)w.open();
  auto j = w.open();
  CHECK(j.begin(command("cmd_2"), now + seconds{5}).what == answer::known);
  // Whether it ran nobody knows any more.
  CHECK(j.begin(command("cmd_1"), now + seconds{5}).what == answer::doubtful);
  CHECK(j.begin(command("cmd_3", now + seconds{4}), now + seconds{5}).what ==
        answer::doubtful);
  CHECK(j.begin(command("cmd_4", now + seconds{6}), now + seconds{7}).what ==
        answer::begun);
  auto later = w.open();
  CHECK(later.begin(command("cmd_5", now), now + seconds{9}).what ==
        answer::doubtful);
  CHECK(
      later.begin(command("cmd_6", now + seconds{9}), now + seconds{9}).what ==
      answer::begun);
}

TEST_CASE("command journal: bounded in results, ids and bytes") {
  world w;
  auto j = w.open();
  const std::string big(20'000, 'x');
  for (std::size_t i = 0; i < command_log::most_waiting; ++i) {
    auto id = "cmd_w" + std::to_string(i);
    REQUIRE(j.begin(command(id), now).what == answer::begun);
    REQUIRE(j.finish({id, true, big}));
  }
  CHECK(j.begin(command("cmd_more"), now).what == answer::full);
  REQUIRE(j.recorded("cmd_w7"));
  CHECK(j.begin(command("cmd_more"), now).what == answer::begun);
  REQUIRE(j.finish({"cmd_more", true, big}));
  // A result nobody took within a week of its command's time is given up.
  CHECK(j.begin(command("cmd_later"), now + 24 * 7 * hour).what ==
        answer::full);
  auto much_later = now + 24 * 7 * hour + hour + milliseconds{1};
  CHECK(j.begin(command("cmd_later", much_later), much_later).what ==
        answer::begun);
  CHECK(j.waiting().empty());
}

TEST_CASE(
    "command journal: as many as are remembered, and room an hour later") {
  world w;
  auto j = w.open();
  auto lasting = [](std::size_t i) {
    return command("cmd_" + std::to_string(i), now + 24 * hour);
  };
  for (std::size_t i = 0; i < command_log::most_known; ++i) {
    REQUIRE(j.begin(command("cmd_" + std::to_string(i)), now).what ==
            answer::begun);
    REQUIRE(j.finish({"cmd_" + std::to_string(i), true, ""}));
    REQUIRE(j.recorded("cmd_" + std::to_string(i)));
  }
  // It is not the server that keeps it.
  CHECK(j.waiting().empty());
  CHECK(j.begin(lasting(9'999), now + 2 * hour).what == answer::crowded);
  CHECK(j.begin(lasting(9'999), now + 2 * hour + milliseconds{1}).what ==
        answer::begun);
}

TEST_CASE("command journal: a year of commands leaves a small file") {
  world w;
  std::optional<command_journal> j{w.open()};
  auto time = now;
  std::uintmax_t largest = 0;
  for (int day = 0; day < 365; ++day) {
    for (int n = 0; n < 12; ++n) {
      auto id = "cmd_" + std::to_string(day) + "_" + std::to_string(n);
      REQUIRE(j->begin(command(id, time), time).what == answer::begun);
      REQUIRE(j->finish({id, true, std::string(500, 'x')}));
      REQUIRE(j->recorded(id));
      time += 2 * hour;
    }
    largest = std::max(largest, std::filesystem::file_size(w.file));
    if (day % 30 == 0)
      j.emplace(w.open());
  }
  CHECK(largest < 300'000);
}

TEST_CASE("command journal: what is no journal, and one of a newer bcd") {
  world w;
  SECTION("larger than one ever is") {
    write_text(w.file, std::string((8 << 20) + 1, '\n'));
    CHECK_FALSE(command_journal::open(w.folder));
  }
  SECTION("a folder") {
    std::filesystem::create_directory(w.file);
    CHECK_FALSE(command_journal::open(w.folder));
  }
  SECTION("empty") {
    write_text(w.file, "");
    auto j = w.open();
    w.run(j, "cmd_1", false);
  }
  SECTION("with lines this one does not know") {
    write_text(w.file, "{\"progress\":\"cmd_1\",\"percent\":5}\n");
    auto j = w.open();
    CHECK(j.begin(command("cmd_1"), now).what == answer::begun);
  }
}

TEST_CASE("command log: cut anywhere, or any byte changed, it is read") {
  std::string text;
  for (int i = 0; i < 6; ++i) {
    auto id = "cmd_" + std::to_string(i);
    text += command_log::begun_line(id, to_millis(now + hour));
    if (i > 1)
      text += command_log::finished_line({id, i % 2 == 0, "o\"u\n\t"});
    if (i > 3)
      text += command_log::recorded_line(id);
  }
  std::size_t known = 0;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    auto log = command_log::read(std::string_view{text}.substr(0, cut));
    // What was known stays known, however it was cut.
    std::size_t now_known = 0;
    for (int i = 0; i < 6; ++i)
      now_known += log.knows("cmd_" + std::to_string(i)) ? 1 : 0;
    REQUIRE(now_known >= known);
    known = now_known;
    REQUIRE_FALSE(log.lines_were_lost());
    REQUIRE(log.is_torn() == (cut > 0 && text[cut - 1] != '\n'));
  }
  CHECK(known == 6);
  std::mt19937 random{11};
  for (int round = 0; round < 4'000; ++round) {
    auto bad = text;
    bad[random() % bad.size()] = static_cast<char>(random());
    auto log = command_log::read(bad);
    // Written anew it reads the same, and whole.
    auto again = command_log::read(log.text());
    REQUIRE_FALSE(again.is_torn());
    REQUIRE(again.text() == log.text());
    REQUIRE(ids(again.waiting()) == ids(log.waiting()));
    REQUIRE(again.begun() == log.begun());
  }
}

TEST_CASE("command journal: cut at random, again and again: never run twice") {
  world w;
  std::mt19937 random{23};
  std::map<std::string, int> runs;
  for (int round = 0; round < 40; ++round) {
    auto log = w.home / "ran";
    auto at = static_cast<int>(random() % 12) + 1;
    auto from = static_cast<int>(random() % 20);
    (void)bc::testing::in_child([&] {
      auto j = command_journal::open(w.folder);
      if (!j)
        ::_exit(1);
      arm(fault_point::daemon_half_append, fault_action::exit, at);
      for (int i = from; i < from + 6; ++i) {
        auto id = "cmd_" + std::to_string(i);
        if (j.value().begin(command(id), now).what != answer::begun)
          continue;
        // The effect of the command, seen from outside.
        std::ofstream{log, std::ios::app} << id << "\n";
        (void)j.value().finish({id, true, "out"});
        if (i % 3 == 0)
          (void)j.value().recorded(id);
      }
    });
  }
  std::ifstream in{w.home / "ran"};
  for (std::string id; std::getline(in, id);)
    ++runs[id];
  CHECK(runs.size() > 10);
  for (const auto& [id, times] : runs) {
    INFO(id);
    CHECK(times == 1);
  }
}
