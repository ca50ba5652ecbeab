// spec: joining#the-join-flow; CASES 169, 177, 178
#include "daemon/identity_store.hpp"

#include "base/fault_point.hpp"
#include "pki/bundle.hpp"
#include "pki/csr.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bc;
using daemon::identity;
using daemon::identity_store;
namespace fs = std::filesystem;

namespace {

const std::string site = "site_01k5w000000000000000000000";
const std::string node = "node_01k5w000000000000000000000";

const pki::key_bundle& deployment() {
  static const auto bundle =
      pki::make_bundle("compute.example.com", from_millis(1'764'000'000'000))
          .value();
  return bundle;
}

identity identity_for(const pki::public_key& key) {
  pki::node_certificate_request request{key,
                                        "compute.example.com",
                                        site,
                                        node,
                                        pki::certificate_role::node,
                                        {},
                                        from_millis(1'764'000'000'000),
                                        pki::max_node_lifetime,
                                        {7, 7, 7}};
  auto leaf = pki::issue_node_certificate(deployment().node_ca, request);
  return {node,
          site,
          "compute.example.com",
          "node",
          "https://gw.example.com",
          {leaf.der, deployment().node_ca.certificate},
          {deployment().command_signing.pub().spki()},
          leaf.not_after};
}

identity_store open(const temporary_folder& folder) {
  auto store = identity_store::open(folder / "data");
  REQUIRE(store);
  return std::move(store).value();
}

mode_t mode_of(const fs::path& file) {
  struct stat about {};
  REQUIRE(::lstat(file.c_str(), &about) == 0);
  return about.st_mode & 07777;
}

}  // namespace

TEST_CASE(
    "identity: what is kept loads again, and nobody else can read it "
    "(case 169)") {
  temporary_folder folder;
  auto before = ::umask(0);
  auto key = pki::private_key::generate();
  auto who = identity_for(key.pub());
  {
    auto store = open(folder);
    CHECK_FALSE(store.load().value());
    REQUIRE(store.keep(key.clone(), who));
  }
  ::umask(before);
  CHECK(mode_of(folder / "data") == 0700);
  for (const auto& file : fs::directory_iterator{folder / "data"})
    CHECK(mode_of(file.path()) == 0600);
  auto back = open(folder).load();
  REQUIRE(back);
  REQUIRE(back.value());
  CHECK(back.value()->node_id == node);
  CHECK(back.value()->certificate_chain == who.certificate_chain);
  CHECK(back.value()->command_signing_keys == who.command_signing_keys);
  CHECK(back.value()->not_after == who.not_after);
}

TEST_CASE("identity: a damaged pair does not count as joined (case 177)") {
  temporary_folder folder;
  auto key = pki::private_key::generate();
  {
    auto store = open(folder);
    REQUIRE(store.keep(key.clone(), identity_for(key.pub())));
  }
  auto json = folder / "data/identity.json", pem = folder / "data/node.key";
  auto whole = read_text(json);
  SECTION("0 bytes") {
    write_text(json, "");
  }
  SECTION("half of it") {
    write_text(json, whole.substr(0, whole.size() / 2));
  }
  SECTION("an unknown version") {
    write_text(json, "{\"version\":2" + whole.substr(12));
  }
  SECTION("no key") {
    fs::remove(pem);
  }
  SECTION("an empty key") {
    write_text(pem, "");
  }
  SECTION("another key") {
    auto other = pki::private_key::generate().pkcs8_pem();
    write_text(pem, std::string{other.expose_text()});
  }
  auto loaded = open(folder).load();
  REQUIRE(loaded);
  CHECK_FALSE(loaded.value());
}

TEST_CASE(
    "identity: a cut between key and identity leaves the pending pair "
    "(case 177)") {
  temporary_folder folder;
  bytes csr;
  {
    auto store = open(folder);
    auto request = store.pending();
    REQUIRE(request);
    CHECK_FALSE(request.value().from_earlier_run);
    csr = request.value().csr;
  }
  SECTION("the step fails") {
    auto store = open(folder);
    auto request = store.pending();
    arm(fault_point::daemon_before_identity, fault_action::error);
    CHECK_FALSE(store.keep(request.value().key,
                           identity_for(request.value().key.pub())));
    disarm_all();
  }
  SECTION("the process dies") {
    auto child = ::fork();
    if (child == 0) {
      auto store = open(folder);
      auto request = store.pending();
      arm(fault_point::daemon_before_identity, fault_action::exit);
      (void)store.keep(request.value().key,
                       identity_for(request.value().key.pub()));
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 99);
  }
  CHECK(fs::exists(folder / "data/node.key"));
  CHECK_FALSE(fs::exists(folder / "data/identity.json"));
  auto store = open(folder);
  CHECK_FALSE(store.load().value());
  auto again = store.pending();
  REQUIRE(again);
  CHECK(again.value().from_earlier_run);
  CHECK(again.value().csr == csr);
  REQUIRE(store.keep(again.value().key, identity_for(again.value().key.pub())));
  CHECK(store.load().value());
  CHECK_FALSE(fs::exists(folder / "data/csr.pending"));
  CHECK_FALSE(fs::exists(folder / "data/node.key.pending"));
}

TEST_CASE("identity: a pending pair that does not fit is made anew") {
  temporary_folder folder;
  auto store = open(folder);
  auto first = store.pending().value().csr;
  CHECK(store.pending().value().csr == first);
  write_text(folder / "data/csr.pending", "garbage");
  auto second = store.pending();
  CHECK_FALSE(second.value().from_earlier_run);
  auto stranger = pki::build_csr(pki::private_key::generate());
  write_text(folder / "data/csr.pending", std::string{as_text(stranger)});
  CHECK_FALSE(store.pending().value().from_earlier_run);
  store.forget_pending();
  CHECK_FALSE(store.pending().value().from_earlier_run);
}

TEST_CASE("identity: the second bcd is told of the first (case 178)") {
  temporary_folder folder;
  auto first = open(folder);
  auto second = identity_store::open(folder / "data");
  REQUIRE_FALSE(second);
  CHECK(second.error().message ==
        "another bcd runs (pid " + std::to_string(::getpid()) +
            "); stop the service first: systemctl stop bcd");
  CHECK(second.error().code == errc::conflict);
}

TEST_CASE("identity: the lock holds where its pid cannot be written") {
  temporary_folder folder;
  { auto made = open(folder); }
  auto child = ::fork();
  if (child == 0) {
    // As on a full disk: every write fails.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    auto first = identity_store::open(folder / "data");
    auto second = identity_store::open(folder / "data");
    ::_exit(!first ? 1 : second ? 2 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE(
    "identity: a folder open to others is refused, links are not "
    "followed (case 169)") {
  temporary_folder folder;
  fs::create_directory(folder / "data");
  fs::permissions(folder / "data", fs::perms::all);
  auto wide = identity_store::open(folder / "data");
  REQUIRE_FALSE(wide);
  CHECK_THAT(wide.error().message, Catch::Contains("0700"));
  CHECK(mode_of(folder / "data") == 0777);

  fs::permissions(folder / "data", fs::perms::owner_all);
  write_text(folder / "target", "untouched");
  fs::create_symlink(folder / "target", folder / "data/node.key.tmp");
  fs::create_symlink(folder / "target", folder / "data/identity.json");
  auto store = open(folder);
  CHECK_FALSE(store.load());
  auto key = pki::private_key::generate();
  REQUIRE(store.keep(key.clone(), identity_for(key.pub())));
  CHECK(read_text(folder / "target") == "untouched");
  CHECK(store.load().value());

  fs::create_directory_symlink(folder / "data", folder / "link");
  CHECK_FALSE(identity_store::open(folder / "link"));
  write_text(folder / "file", "");
  CHECK_FALSE(identity_store::open(folder / "file"));
}
