// spec: joining#the-join-key-and-its-fallback; CASES 1, 3, 171
#include "daemon/token_file.hpp"

#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

using namespace bc;
namespace fs = std::filesystem;

namespace {

const std::string token{fake_gateway::token};

struct world {
  temporary_folder folder;
  fs::path file = folder / "join-token";

  void put(const std::string& text, mode_t mode = 0600) const {
    write_text(file, text);
    REQUIRE(::chmod(file.c_str(), mode) == 0);
  }
  void refused(const std::string& why) const {
    auto read = daemon::read_token_file(file);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message,
               Catch::Contains(why) && !Catch::Contains("AbCdEf"));
    CHECK(fs::exists(fs::symlink_status(file)));
  }
};

}  // namespace

TEST_CASE("token file: for its owner alone, blanks around it (cases 1, 171)") {
  world w;
  auto mode = GENERATE(0600, 0400);
  w.put(token + GENERATE("", "\n", "\r\n", " \t\n"), static_cast<mode_t>(mode));
  auto read = daemon::read_token_file(w.file);
  REQUIRE(read);
  CHECK(read.value().token.expose_text() == token);
  CHECK_FALSE(daemon::remove_token_file(w.file, read.value()));
  CHECK_FALSE(fs::exists(w.file));
}

TEST_CASE("token file: modes that others could use (case 171)") {
  world w;
  auto mode = GENERATE(0640, 0604, 0644, 0660, 0666, 0700, 0500, 01600, 0200,
                       0000, 0444);
  w.put(token, static_cast<mode_t>(mode));
  w.refused("it must be 0600 or 0400");
}

TEST_CASE("token file: 0440 is what fsGroup makes of 0400 (case 171)") {
  world w;
  w.put(token, 0440);
  w.refused("has mode 0440");
  w.refused("fsGroup");
}

TEST_CASE("token file: sizes, lines and what is no token (case 3)") {
  world w;
  SECTION("4,097 bytes") {
    w.put(token + std::string(4'097 - token.size(), ' '));
    w.refused("longer than 4096 bytes");
  }
  SECTION("4,096 bytes") {
    w.put(token + std::string(4'096 - token.size(), ' '));
    CHECK(daemon::read_token_file(w.file));
  }
  SECTION("two tokens") {
    w.put(token + "\n" + token + "\n");
    w.refused("more than one line");
  }
  SECTION("empty") {
    w.put("");
    w.refused("holds no token");
  }
  SECTION("something else") {
    w.put("bcjt_AbCdEf");
    w.refused("does not look like bcjt_");
  }
}

TEST_CASE("token file: not a regular file (case 171)") {
  world w;
  SECTION("a folder") {
    fs::create_directories(w.file);
    ::chmod(w.file.c_str(), 0400);
    w.refused("regular file");
  }
  SECTION("a pipe that nobody writes to") {
    REQUIRE(::mkfifo(w.file.c_str(), 0600) == 0);
    w.refused("regular file");
  }
  SECTION("a link that leads nowhere") {
    fs::create_symlink("nowhere", w.file);
    w.refused("cannot be opened");
  }
  SECTION("nothing") {
    auto read = daemon::read_token_file(w.file);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message, Catch::Contains("cannot be opened"));
  }
}

TEST_CASE("token file: a Secret's links are followed (case 171)") {
  // As the kubelet lays it out: token -> ..data/token, ..data -> ..2026_…
  world w;
  auto version = w.folder / "..2026_11_30";
  write_text(version / "join-token", token + "\n");
  ::chmod((version / "join-token").c_str(), 0400);
  fs::create_directory_symlink("..2026_11_30", w.folder / "..data");
  fs::create_symlink("..data/join-token", w.file);
  auto read = daemon::read_token_file(w.file);
  REQUIRE(read);
  CHECK(read.value().token.expose_text() == token);
  SECTION("what goes is the file, and the link to it") {
    CHECK_FALSE(daemon::remove_token_file(w.file, read.value()));
    CHECK_FALSE(fs::exists(version / "join-token"));
    CHECK_FALSE(fs::exists(fs::symlink_status(w.file)));
  }
  SECTION("swapped by the kubelet meanwhile: the new one stays") {
    auto next = w.folder / "..2026_12_01";
    write_text(next / "join-token", "another\n");
    fs::remove_all(version);
    fs::remove(w.folder / "..data");
    fs::create_directory_symlink("..2026_12_01", w.folder / "..data");
    CHECK_FALSE(daemon::remove_token_file(w.file, read.value()));
    CHECK(fs::exists(next / "join-token"));
  }
}

TEST_CASE("token file: another file in its place is not removed (case 171)") {
  world w;
  w.put(token);
  auto read = daemon::read_token_file(w.file);
  REQUIRE(read);
  write_text(w.folder / "other", "not a token");
  fs::rename(w.folder / "other", w.file);
  auto warning = daemon::remove_token_file(w.file, read.value());
  REQUIRE(warning);
  CHECK_THAT(*warning, Catch::Contains("another file is in its place"));
  CHECK(read_text(w.file) == "not a token");
}
