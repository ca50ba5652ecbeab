// spec: joining#troubleshooting ([helper]). Whose the data folder is during a
// root join and after it.
#include "daemon/handover.hpp"

#include "base/clock.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bc;
using namespace bc::daemon;
namespace fs = std::filesystem;

namespace {

// A configured machine whose [helper] is for a user that there is, and its
// folder as somebody left it.
struct lending {
  temporary_folder folder;
  config machine;
  account nobody = account_of("nobody").value();

  lending() {
    machine.data_dir = folder / "data";
    machine.helper = helper_settings{"nobody", folder / "helper.sock"};
  }
  void make(const account& of, unsigned mode = 0700) const {
    fs::create_directory(machine.data_dir);
    fs::permissions(machine.data_dir, fs::perms{mode});
    write_text(machine.data_dir / "identity.json", "x");
    for (const auto& path : {machine.data_dir, identity()})
      REQUIRE(::chown(path.c_str(), of.user, of.group) == 0);
  }
  [[nodiscard]] fs::path identity() const {
    return machine.data_dir / "identity.json";
  }
  static uid_t owner(const fs::path& path) {
    struct stat about {};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    return about.st_uid;
  }
};

}  // namespace

TEST_CASE(
    "handover: the folder is the helper's user's, and root's for a join") {
  CHECK(account_of("root").error().code == errc::invalid_config);
  CHECK(account_of("no-such-user-x").error().code == errc::invalid_config);
  if (::geteuid() != 0)
    return;  // needs root
  const account a{12'345, 12'346};
  temporary_folder folder;
  auto data = folder / "data";
  CHECK_FALSE(take_over(data, a).value());  // not there yet
  CHECK(hand_over(data, a));
  fs::create_directory(data);
  fs::permissions(data, fs::perms{0700});
  for (const auto* name :
       {"identity.json", "node.key", "journal.db", "bcd.lock",
        "node.key.reset-20261130T120000Z", "identity.json.tmp", "shadow",
        "passwd.tmp", "passwd.reset-20261130T120000Z"})
    write_text(data / name, "x");
  write_text(folder / "elsewhere", "x");
  fs::create_hard_link(folder / "elsewhere", data / "hard");
  fs::create_symlink(folder / "elsewhere", data / "soft");
  REQUIRE(hand_over(data, a));
  auto owner = [](const fs::path& path) {
    struct stat about {};
    REQUIRE(::lstat(path.c_str(), &about) == 0);
    return std::pair{about.st_uid, about.st_gid};
  };
  const std::pair<uid_t, gid_t> its{12'345, 12'346}, roots{0, 0};
  CHECK(owner(data) == its);
  for (const auto* name :
       {"identity.json", "node.key", "journal.db", "bcd.lock",
        "node.key.reset-20261130T120000Z", "identity.json.tmp"})
    CHECK(owner(data / name) == its);
  // What bcd does not keep there is not its to give.
  for (const auto* name :
       {"shadow", "passwd.tmp", "passwd.reset-20261130T120000Z"})
    CHECK(owner(data / name) == roots);
  // What has another name may be anybody's.
  CHECK(owner(folder / "elsewhere") == roots);
  REQUIRE(take_over(data, a).value());
  CHECK(owner(data) == roots);
  REQUIRE(hand_over(data, a));
  auto other = take_over(data, account{1, 1});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == errc::invalid_state);
}

TEST_CASE("lent folder: what was taken goes back, whatever came of it") {
  if (::geteuid() != 0)
    return;  // needs root
  lending l;
  l.make(l.nobody);
  {
    auto lent = lent_folder::take(l.machine);
    REQUIRE(lent);
    REQUIRE(lent.value());
    CHECK(l.owner(l.machine.data_dir) == 0);
    write_text(l.machine.data_dir / "csr.pending", "x");
    if (GENERATE(false, true))
      CHECK(lent.value()->give_back(false));
  }
  CHECK(l.owner(l.machine.data_dir) == l.nobody.user);
  CHECK(l.owner(l.machine.data_dir / "csr.pending") == l.nobody.user);
}

TEST_CASE("lent folder: root's is the account's once it has an identity") {
  if (::geteuid() != 0)
    return;  // needs root
  lending l;
  const bool holds_identity = GENERATE(false, true);
  l.make({0, 0});
  auto lent = lent_folder::take(l.machine);
  REQUIRE(lent);
  CHECK(lent.value()->give_back(holds_identity));
  CHECK(l.owner(l.identity()) == (holds_identity ? l.nobody.user : 0));
  CHECK(l.owner(l.machine.data_dir) == (holds_identity ? l.nobody.user : 0));
}

TEST_CASE("lent folder: one named by mistake is nobody's to give away") {
  if (::geteuid() != 0)
    return;  // needs root
  lending l;
  l.make({0, 0}, 0755);
  auto lent = lent_folder::take(l.machine);
  REQUIRE(lent);
  auto given = lent.value()->give_back(true);
  REQUIRE_FALSE(given);
  CHECK(given.error().code == errc::invalid_state);
  CHECK(l.owner(l.machine.data_dir) == 0);
  CHECK(l.owner(l.identity()) == 0);
}

TEST_CASE("lent folder: a signal gives it back, and ends the join") {
  if (::geteuid() != 0)
    return;  // needs root
  const int which = GENERATE(SIGINT, SIGTERM, SIGHUP);
  lending l;
  l.make(l.nobody);
  const auto child = ::fork();
  if (child == 0) {
    // Whoever runs this may ignore it, as nohup does; and none waits for ever.
    std::signal(which, SIG_DFL);
    ::alarm(60);
    auto lent = lent_folder::take(l.machine);
    if (!lent || !lent.value())
      ::_exit(9);
    write_text(l.machine.data_dir / "taken", "x");
    ::pause();
    ::_exit(8);
  }
  while (!fs::exists(l.machine.data_dir / "taken"))
    std::this_thread::sleep_for(milliseconds{5});
  CHECK(l.owner(l.machine.data_dir) == 0);
  ::kill(child, which);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == which);
  CHECK(l.owner(l.machine.data_dir) == l.nobody.user);
  CHECK(l.owner(l.identity()) == l.nobody.user);
}

TEST_CASE("lent folder: nothing without [helper]") {
  lending l;
  l.machine.helper.reset();
  auto lent = lent_folder::take(l.machine);
  REQUIRE(lent);
  CHECK_FALSE(lent.value());
}
