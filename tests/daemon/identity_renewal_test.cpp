// CASES 105, 177: a renewal that ends between two of its steps.
#include "base/fault_point.hpp"
#include "daemon/identity_store.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace bc;
using daemon::identity_store;
namespace fs = std::filesystem;

namespace {

struct world {
  temporary_folder folder;
  virtual_world time;
  fake_renewals server{time};
  fs::path data = folder / "data";
  daemon::node_identity old_pair = server.identity();
  daemon::node_identity new_pair = later();

  daemon::node_identity later() {
    time.pass(seconds{50'000});
    return server.identity();
  }
  world() { REQUIRE(open().keep(old_pair.key, old_pair.who)); }
  [[nodiscard]] identity_store open() const {
    return identity_store::open(data).value();
  }
  // Which pair loads now; both keys are told apart by the certificate.
  [[nodiscard]] std::string loads() const {
    auto look = daemon::look_at_identity(data);
    REQUIRE(look);
    if (!look.value().pair)
      return "none: " + look.value().why;
    const auto& pair = *look.value().pair;
    auto leaf = pki::parse_certificate(pair.who.certificate_chain.front());
    CHECK(leaf.value().key == pair.key.pub());
    return leaf.value().key == old_pair.key.pub() ? "old" : "new";
  }
};

// In a child, as a power cut would end it; true when it was cut.
bool cut(const world& w, fault_point at) {
  auto child = ::fork();
  if (child == 0) {
    auto store = w.open();
    arm(at, fault_action::exit);
    bool renewed = store.renew(w.new_pair.key, w.new_pair.who).has_value();
    ::_exit(renewed ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

struct step {
  fault_point at;
  const char* loads;
};
const step steps[] = {{fault_point::daemon_before_next_key, "old"},
                      {fault_point::daemon_after_next_key, "old"},
                      {fault_point::daemon_before_new_key, "new"},
                      {fault_point::daemon_after_new_key, "new"}};

}  // namespace

TEST_CASE("identity: a renewal puts key and certificate in place") {
  world w;
  auto store = w.open();
  REQUIRE(store.renew(w.new_pair.key, w.new_pair.who));
  CHECK(w.loads() == "new");
  CHECK_FALSE(fs::exists(w.data / "node.key.next"));
  for (const auto* name : {"identity.json", "node.key"})
    CHECK(fs::status(w.data / name).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE(
    "identity: cut at each step of a renewal, a pair loads "
    "(cases 105, 177)") {
  for (const auto& s : steps) {
    world w;
    REQUIRE(cut(w, s.at));
    CHECK(w.loads() == s.loads);
    // The daemon that starts then settles it, and it stays so.
    {
      auto store = w.open();
      auto look = store.look().value();
      REQUIRE(look.pair);
      REQUIRE(store.settle(look));
      CHECK_FALSE(fs::exists(w.data / "node.key.next"));
      CHECK(w.loads() == s.loads);
      // `bcd join` takes it for joined as well.
      REQUIRE(store.load());
      CHECK(store.load().value());
      // And the next renewal works.
      REQUIRE(store.renew(w.new_pair.key, w.new_pair.who));
    }
    CHECK(w.loads() == "new");
  }
}

TEST_CASE("identity: a failed step leaves a pair that loads (case 177)") {
  for (const auto& s : steps) {
    world w;
    auto store = w.open();
    arm(s.at, fault_action::error);
    CHECK_FALSE(store.renew(w.new_pair.key, w.new_pair.who));
    disarm_all();
    CHECK(w.loads() == s.loads);
  }
}

TEST_CASE(
    "identity: a renewal after one whose rename failed, cut in turn, leaves "
    "the one before (case 177)") {
  world w;
  auto third = w.later();
  auto child = ::fork();
  if (child == 0) {
    auto store = w.open();
    arm(fault_point::daemon_before_new_key, fault_action::error);
    bool failed = !store.renew(w.new_pair.key, w.new_pair.who);
    arm(fault_point::daemon_after_next_key, fault_action::exit);
    (void)store.renew(third.key, third.who);
    ::_exit(failed ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE((!WIFEXITED(status) || WEXITSTATUS(status) > 1));
  CHECK(w.loads() == "new");
}

TEST_CASE("identity: cut again and again, at random, a pair always loads") {
  world w;
  for (unsigned round = 0; round < 12; ++round) {
    (void)cut(w, steps[round * 7 % std::size(steps)].at);
    auto loads = w.loads();
    CHECK((loads == "old" || loads == "new"));
    if (round % 3 == 0) {
      auto store = w.open();
      REQUIRE(store.settle(store.look().value()));
    }
  }
}

TEST_CASE("identity: why it does not load (cases 108, 177)") {
  world w;
  std::string why;
  SECTION("an empty file") {
    write_text(w.data / "identity.json", "");
    why = "identity.json is empty";
  }
  SECTION("half of it") {
    auto text = read_text(w.data / "identity.json");
    write_text(w.data / "identity.json", text.substr(0, text.size() / 2));
    why = "identity.json is damaged";
  }
  SECTION("new JSON and an old key") {
    write_text(w.data / "identity.json", daemon::encode(w.new_pair.who));
    why = "the certificate in identity.json is not for node.key";
  }
  SECTION("a key of zeros") {
    write_text(w.data / "node.key", std::string(227, '\0'));
    why = "node.key is not a P-256 private key";
  }
  SECTION("no key") {
    fs::remove(w.data / "node.key");
    why = "node.key is missing";
  }
  SECTION("no identity") {
    fs::remove(w.data / "identity.json");
    why = "identity.json is missing";
  }
  CHECK_THAT(w.loads(), Catch::StartsWith("none: " + why));
  CHECK_FALSE(daemon::look_at_identity(w.data).value().absent);
}

TEST_CASE("identity: a machine that never joined") {
  temporary_folder folder;
  auto look = daemon::look_at_identity(folder / "nothing");
  REQUIRE(look);
  CHECK(look.value().absent);
  fs::create_directories(folder / "empty");
  CHECK(daemon::look_at_identity(folder / "empty").value().absent);
  CHECK_FALSE(fs::exists(folder / "nothing"));
  CHECK_FALSE(fs::exists(folder / "empty/bcd.lock"));
}
