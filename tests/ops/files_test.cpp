// spec: DESIGN section 11 (secrets only to a new 0600 file); CASES 169.
#include "ops/cli/files.hpp"

#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace bc;

namespace {

using folder = temporary_folder;

mode_t mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

}  // namespace

TEST_CASE("files: a new secret file is 0600 under any umask (case 169)",
          "[ops][files]") {
  folder dir;
  auto old = ::umask(0);
  auto written = cli::write_new_secret_file(dir / "secret", "text\n");
  ::umask(old);
  REQUIRE(written);
  CHECK(mode_of(dir / "secret") == 0600);
  auto back = cli::read_secret_file(dir / "secret");
  REQUIRE(back);
  CHECK(back.value().expose_text() == "text");
}

TEST_CASE("files: a new one's name is on disk, or it is not kept",
          "[ops][files]") {
  folder dir;
  const auto closed = dir / "closed";
  REQUIRE(::mkdir(closed.c_str(), 0300) == 0);
  // Nothing is closed to root.
  constexpr uid_t nobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    REQUIRE(::chmod(dir.path().c_str(), 0711) == 0);
    REQUIRE(::chown(closed.c_str(), nobody, nobody) == 0);
    REQUIRE(::seteuid(nobody) == 0);
  }
  auto written = cli::write_new_secret_file(closed / "secret", "text");
  if (is_root)
    REQUIRE(::seteuid(0) == 0);
  REQUIRE(::chmod(closed.c_str(), 0700) == 0);
  REQUIRE(!written);
  CHECK(written.error().code == errc::unavailable);
  CHECK(fs::is_empty(closed));
}

TEST_CASE("files: a path without a folder is of the one that is here",
          "[ops][files]") {
  folder dir;
  const auto before = fs::current_path();
  fs::current_path(dir.path());
  auto written = cli::write_new_secret_file("secret", "text");
  auto replaced = cli::replace_secret_file("secret", "other");
  fs::current_path(before);
  CHECK(written);
  CHECK(replaced);
  CHECK(mode_of(dir / "secret") == 0600);
}

TEST_CASE("files: nothing at the path is ever written over (case 169)",
          "[ops][files]") {
  folder dir;
  std::ofstream{dir / "file"} << "kept";
  fs::create_symlink(dir / "file", dir / "link");
  fs::create_symlink(dir / "nowhere", dir / "dangling");
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  fs::create_directory(dir / "folder");
  for (const char* name : {"file", "link", "dangling", "fifo", "folder"}) {
    CAPTURE(name);
    auto made = cli::new_secret_file::create(dir / name);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == errc::already_exists);
  }
  std::string text;
  std::ifstream{dir / "file"} >> text;
  CHECK(text == "kept");
  CHECK_FALSE(fs::exists(dir / "nowhere"));
}

TEST_CASE("files: a secret file is written in parts, and gone if cut off",
          "[ops][files]") {
  folder dir;
  {
    auto whole = cli::new_secret_file::create(dir / "whole");
    REQUIRE(whole);
    REQUIRE(whole.value().write("one\n"));
    REQUIRE(whole.value().keep("two\n"));
    auto part = cli::new_secret_file::create(dir / "part");
    REQUIRE(part);
    REQUIRE(part.value().write("one\n"));
  }
  CHECK(cli::read_file(dir / "whole").value() == "one\ntwo\n");
  CHECK(mode_of(dir / "whole") == 0600);
  CHECK_FALSE(fs::exists(dir / "part"));
}

TEST_CASE("files: a secret file that is not kept is gone", "[ops][files]") {
  folder dir;
  { REQUIRE(cli::new_secret_file::create(dir / "secret")); }
  CHECK_FALSE(fs::exists(dir / "secret"));
}

TEST_CASE("files: a secret others can read is refused with what to do",
          "[ops][files]") {
  folder dir;
  std::ofstream{dir / "open"} << "x";
  for (mode_t mode : {0644, 0640, 0604}) {
    ::chmod((dir / "open").c_str(), mode);
    auto read = cli::read_secret_file(dir / "open");
    REQUIRE_FALSE(read);
    CHECK(read.error().message.find("chmod 600") != std::string::npos);
  }
  ::chmod((dir / "open").c_str(), 0400);
  CHECK(cli::read_secret_file(dir / "open"));
  CHECK_FALSE(cli::read_secret_file(dir / "missing"));
}
