// spec: DESIGN section 11 (a 0600 profile), section 5 (the position kept in
// it); CASES 169, 170.
#include "ops/cli/profile.hpp"

#include "ops/cli/profile_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace fs = std::filesystem;
using namespace bc;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

result<void> add(const std::string& path, const std::string& name) {
  return cli::change_profiles(path, [&](cli::profiles& all) -> result<void> {
    all[name].url = "https://" + name + ".example.com";
    return ok();
  });
}

}  // namespace

TEST_CASE("profile: what is written reads the same", "[ops][profile]") {
  std::mt19937 random{7};
  const std::vector<std::string> pieces{
      "a", "Z", "0", "-", "_", ".",  ":",  "/",    "\"",   "\\", "'",
      "#", "[", "]", "=", " ", "\n", "\t", "\x01", "\x7f", "ü",  "名"};
  auto text = [&] {
    std::string out;
    std::uniform_int_distribution<std::size_t> at{0, pieces.size() - 1},
        size{1, 30};
    for (auto left = size(random); left > 0; --left)
      out += pieces[at(random)];
    return out;
  };
  for (int i = 0; i < 300; ++i) {
    cli::profiles all;
    auto& one = all["default"];
    one.url = text();
    one.ca_file = text();
    one.tenant = text();
    one.position = random();
    (i % 2 == 0 ? one.credential : one.credential_file) = text();
    all["lab-2_B"].url = text();
    auto back = cli::parse_profiles(cli::format_profiles(all));
    REQUIRE(back);
    REQUIRE(back.value().size() == 2);
    const auto& read = back.value().at("default");
    CHECK(read.url == one.url);
    CHECK(read.ca_file == one.ca_file);
    CHECK(read.credential == one.credential);
    CHECK(read.credential_file == one.credential_file);
    CHECK(read.tenant == one.tenant);
    CHECK(read.position == one.position);
    CHECK(back.value().at("lab-2_B").url == all["lab-2_B"].url);
  }
}

TEST_CASE("profile: what is no profile is named, secrets are not",
          "[ops][profile]") {
  struct row {
    std::string text, said;
  };
  for (const auto& r : std::vector<row>{
           {"[default]\nurl = \"u\"\nurls = \"v\"", "unknown key default.urls"},
           {"[default]\nurl = 1", "default.url must be a text"},
           {"[default]\nurl = \"u\"\nposition = -1",
            "default.position must be"},
           {"[default]\ntenant = \"t\"", "default has no url"},
           {"url = \"u\"", "below a [NAME]"},
           {"[\"a b\"]\nurl = \"u\"", "below a [NAME]"},
           {"[a]\nurl = \"u\"\ncredential = \"hush\"\ncredential_file = \"f\"",
            "both credential and credential_file"},
           {"[a]\ncredential = \"hush\nurl = \"u\"", "line 2 is not TOML"},
       }) {
    auto read = cli::parse_profiles(r.text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_config);
    INFO(read.error().message);
    CHECK(read.error().message.find(r.said) != std::string::npos);
    CHECK((read.error().message + read.error().detail).find("hush") ==
          std::string::npos);
  }
}

TEST_CASE("profile: a slash at the end names the same place",
          "[ops][profile]") {
  CHECK(cli::same_url("https://a.example", "https://a.example/"));
  CHECK_FALSE(cli::same_url("https://a.example", "https://a.example.org"));
  CHECK_FALSE(cli::same_url("https://a.example", "http://a.example"));
}

TEST_CASE("profile: the file is private from its first moment (case 169)",
          "[ops][profile]") {
  temporary_folder dir;
  const auto path =
      (dir / "config" / "better-compute" / "profile.toml").string();
  CHECK(cli::read_profiles(path).value().empty());
  auto old = ::umask(0);
  auto made = add(path, "one");
  ::umask(old);
  REQUIRE(made);
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(fs::path{path}.parent_path()) == 0700);
  CHECK(cli::read_profiles(path).value().count("one") == 1);

  for (mode_t mode : {0644, 0640, 0604, 0620}) {
    ::chmod(path.c_str(), mode);
    for (auto done : {result<void>{add(path, "two")},
                      cli::read_profiles(path)
                          ? ok()
                          : result<void>{cli::read_profiles(path).error()}}) {
      REQUIRE_FALSE(done);
      CHECK(done.error().code == errc::invalid_config);
      CHECK(done.error().message.find("chmod 600") != std::string::npos);
    }
  }
  ::chmod(path.c_str(), 0600);
  if (::geteuid() == 0) {
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    auto read = cli::read_profiles(path);
    REQUIRE_FALSE(read);
    CHECK(read.error().message.find("another user") != std::string::npos);
  }
}

TEST_CASE("profile: a position that TOML has no number for is left out",
          "[ops][profile]") {
  for (auto position : {cli::most_position, cli::most_position + 1,
                        std::numeric_limits<std::uint64_t>::max()}) {
    cli::profiles all;
    all["a"].url = "u";
    all["a"].position = position;
    auto back = cli::parse_profiles(cli::format_profiles(all));
    REQUIRE(back);
    CHECK(back.value().at("a").position ==
          (position > cli::most_position ? 0 : position));
  }
}

TEST_CASE("profile: a link to the file stays one", "[ops][profile]") {
  temporary_folder dir;
  const auto path = dir / "better-compute" / "profile.toml";
  const auto target = dir / "dotfiles" / "compute.toml";
  fs::create_directories(path.parent_path());
  fs::create_directories(target.parent_path());
  fs::create_symlink("../dotfiles/compute.toml", path);
  auto dangling = add(path, "one");
  REQUIRE_FALSE(dangling);
  CHECK(dangling.error().code == errc::invalid_config);
  CHECK_FALSE(fs::exists(target));
  REQUIRE(add(target, "one"));
  REQUIRE(add(path, "two"));
  CHECK(fs::is_symlink(path));
  CHECK(mode_of(target) == 0600);
  CHECK(cli::read_profiles(target).value().size() == 2);
  CHECK(cli::read_profiles(path).value().size() == 2);
}

TEST_CASE("profile: commands that write at once lose nothing",
          "[ops][profile]") {
  temporary_folder dir;
  const auto path = (dir / "better-compute" / "profile.toml").string();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k)
        static_cast<void>(
            add(path, "p" + std::to_string(i) + "-" + std::to_string(k)));
    });
  for (auto& t : threads)
    t.join();
  CHECK(cli::read_profiles(path).value().size() == 80);
  CHECK(mode_of(path) == 0600);
  CHECK_FALSE(fs::exists(path + ".new"));
}

TEST_CASE("profile: a change that is refused leaves the file alone",
          "[ops][profile]") {
  temporary_folder dir;
  const auto path = (dir / "better-compute" / "profile.toml").string();
  REQUIRE(add(path, "one"));
  const auto before = read_text(path);
  auto refused =
      cli::change_profiles(path, [](cli::profiles& all) -> result<void> {
        all.clear();
        return fail(errc::not_found, "no");
      });
  CHECK_FALSE(refused);
  CHECK(read_text(path) == before);
}

TEST_CASE("profile: where it is", "[ops][profile]") {
  const char* home = std::getenv("HOME");
  const std::string kept = home == nullptr ? "" : home;
  ::setenv("HOME", "/home/me", 1);
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  CHECK(cli::profile_path() == "/home/me/.config/better-compute/profile.toml");
  ::setenv("XDG_CONFIG_HOME", "/xdg", 1);
  CHECK(cli::profile_path() == "/xdg/better-compute/profile.toml");
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("HOME");
  CHECK(cli::profile_path().empty());
  if (home != nullptr)
    ::setenv("HOME", kept.c_str(), 1);
}
