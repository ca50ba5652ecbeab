// Secrets that are passed on by reference, as files of the user's own.
#include "ops/serve/file_secrets.hpp"

#include "ops/cli/files.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

using namespace bc;

namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat found {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

std::shared_ptr<actors::secret_sink> opened(const std::filesystem::path& path) {
  auto sink = serve::open_file_secrets(path.string());
  INFO((sink ? std::string{} : sink.error().message));
  REQUIRE(sink);
  return sink.value();
}

}  // namespace

TEST_CASE("file secrets: each is a file of its user's alone", "[ops]") {
  temporary_folder dir;
  const auto folder = dir / "secrets";
  auto sink = opened(folder);
  CHECK(mode_of(folder) == 0700);
  auto reference = sink->put("jt_1", secret_bytes{std::string_view{"bcjt_x"}});
  REQUIRE(reference);
  CHECK(reference.value() == "secret://file/jt_1");
  CHECK(mode_of(folder / "jt_1") == 0600);
  CHECK(read_text(folder / "jt_1") == "bcjt_x");
  auto read = cli::read_secret_file((folder / "jt_1").string());
  REQUIRE(read);

  // A name is used once, and stays what it was.
  auto again = sink->put("jt_1", secret_bytes{std::string_view{"other"}});
  REQUIRE(!again);
  CHECK(again.error().code == errc::already_exists);
  CHECK(read_text(folder / "jt_1") == "bcjt_x");

  // Another process of this user finds the folder as it is.
  opened(folder)->drop(reference.value());
  CHECK_FALSE(std::filesystem::exists(folder / "jt_1"));
  sink->drop(reference.value());
}

TEST_CASE("file secrets: no name leads out of the folder", "[ops]") {
  temporary_folder dir;
  auto sink = opened(dir / "secrets");
  write_text(dir / "other", "stays");
  for (const auto* bad :
       {"", ".", "..", "../other", "a/b", "/etc/x", "A b", ".hidden"}) {
    INFO(bad);
    CHECK(!sink->put(bad, secret_bytes{std::string_view{"s"}}));
    sink->drop("secret://file/" + std::string{bad});
  }
  sink->drop("secret://vault/other");
  sink->drop((dir / "other").string());
  CHECK(read_text(dir / "other") == "stays");
  CHECK(std::filesystem::is_empty(dir / "secrets"));
}

TEST_CASE("file secrets: a folder that others can enter is refused", "[ops]") {
  temporary_folder dir;
  const auto folder = dir / "secrets";
  std::filesystem::create_directory(folder);
  ::chmod(folder.c_str(), 0750);
  auto open = [&] { return serve::open_file_secrets(folder.string()); };
  REQUIRE(!open());
  CHECK(open().error().code == errc::invalid_config);
  ::chmod(folder.c_str(), 0700);
  CHECK(open());
  // Nor a link to a good one, nor a file.
  std::filesystem::create_directory_symlink(folder, dir / "link");
  CHECK(!serve::open_file_secrets((dir / "link").string()));
  write_text(dir / "file", "");
  CHECK(!serve::open_file_secrets((dir / "file").string()));
  CHECK(!serve::open_file_secrets((dir / "no" / "folder").string()));
}
