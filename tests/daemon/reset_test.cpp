// spec: joining#troubleshooting; CASES 69. `bcd join --reset --yes`.
#include "daemon/identity_store.hpp"
#include "daemon/token_input.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <unistd.h>

using namespace bc;
using daemon::exchange;
using daemon::identity_store;
using daemon::join_exit;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> moved_files = {"journal.db",  "node.key.next",
                                              "csr.pending", "node.key.pending",
                                              "node.key",    "identity.json"};

using contents = std::map<std::string, std::string>;

contents files_in(const fs::path& folder) {
  contents out;
  for (const auto& file : fs::directory_iterator{folder})
    if (file.path().filename() != "bcd.lock")
      out[file.path().filename()] = read_text(file.path());
  return out;
}

fs::path make_data(const temporary_folder& folder, const contents& files) {
  auto data = folder / "data";
  fs::create_directory(data);
  fs::permissions(data, fs::perms::owner_all);
  for (const auto& [name, text] : files)
    write_text(data / name, text);
  return data;
}

std::string set_aside(const fs::path& data, time_point now) {
  auto store = identity_store::open(data);
  REQUIRE(store);
  auto suffix = store.value().set_aside(now);
  REQUIRE(suffix);
  return suffix.value();
}

const time_point noon = from_rfc3339("2026-11-30T12:00:00.987Z").value();
const std::string noon_suffix = ".reset-20261130T120000Z";

// A machine that joined, with files of a daemon that ran since.
struct world {
  temporary_folder folder;
  fake_gateway gateway;
  fake_machine machine;
  daemon::config config = gateway.config(folder);
  contents old;

  world() {
    REQUIRE(join(false).exit_code == join_exit::joined);
    for (const auto* name : {"node.key.next", "journal.db", "csr.pending"})
      write_text(data() / name, std::string{"old "} + name);
    old = files_in(data());
    gateway.requests.clear();
  }
  [[nodiscard]] fs::path data() const { return config.data_dir; }
  daemon::join_outcome join(bool reset, const std::string& token = std::string{
                                            fake_gateway::token}) {
    auto options = gateway.options();
    options.reset = reset;
    return daemon::run_join(
        config, machine, [&] { return daemon::clean_token(as_bytes(token)); },
        options);
  }
  [[nodiscard]] std::string suffix() const {
    return ".reset-20251124T160000Z";  // of fake_gateway::start
  }
  void check_old_is_aside() const {
    for (const auto& [name, text] : old)
      CHECK(read_text(data() / (name + suffix())) == text);
  }
};

}  // namespace

TEST_CASE("reset: whichever files exist are renamed, and no others (case 69)") {
  for (unsigned subset = 0; subset < 1u << moved_files.size(); ++subset) {
    CAPTURE(subset);
    temporary_folder folder{quick_parent()};
    contents before{{"identity.json.bak", "mine"}, {"notes", "mine"}};
    auto after = before;
    std::vector<std::string> there;
    for (std::size_t i = 0; i < moved_files.size(); ++i) {
      if ((subset >> i & 1) == 0)
        continue;
      const auto& name = moved_files[i];
      there.push_back(name);
      before[name] = after[name + noon_suffix] = "content of " + name;
    }
    auto data = make_data(folder, before);
    CHECK(daemon::files_to_set_aside(data) == there);
    CHECK(set_aside(data, noon) == (there.empty() ? "" : noon_suffix));
    CHECK(files_in(data) == after);
    CHECK(daemon::files_to_set_aside(data).empty());
  }
}

TEST_CASE("reset: no folder, nothing that would be renamed (case 69)") {
  temporary_folder folder;
  CHECK(daemon::files_to_set_aside(folder / "none").empty());
  CHECK_FALSE(fs::exists(folder / "none"));
}

TEST_CASE("reset: a link is renamed, not followed (case 69)") {
  temporary_folder folder;
  auto data = make_data(folder, {});
  fs::create_symlink(folder / "nowhere", data / "identity.json");
  CHECK(daemon::files_to_set_aside(data).size() == 1);
  CHECK(set_aside(data, noon) == noon_suffix);
  CHECK(fs::is_symlink(
      fs::symlink_status(data / ("identity.json" + noon_suffix))));
}

TEST_CASE(
    "reset: a second one in the same second leaves the first set as it is "
    "(case 69)") {
  temporary_folder folder;
  contents expected;
  fs::path data;
  for (const auto* ending : {"", "-2", "-3"}) {
    contents set{{"identity.json", std::string{"identity"} + ending},
                 {"node.key", std::string{"key"} + ending}};
    data = make_data(folder, set);
    CHECK(set_aside(data, noon) == noon_suffix + ending);
    for (const auto& [name, text] : set)
      expected[name + noon_suffix + ending] = text;
    CHECK(files_in(data) == expected);
  }
  // Sets do not mix, not even where their files differ.
  make_data(folder, {{"journal.db", "events"}});
  CHECK(set_aside(data, noon) == noon_suffix + "-4");
}

TEST_CASE("reset: a folder that fails is an error, and keeps its files") {
  temporary_folder folder;
  contents files{{"identity.json", "identity"}, {"node.key", "key"}};
  auto data = make_data(folder, files);
  auto store = identity_store::open(data);
  REQUIRE(store);
  // Root may do everything: ask as somebody else.
  bool root = ::geteuid() == 0;
  fs::permissions(data, fs::perms::none);
  bool changed = !root || ::seteuid(65534) == 0;
  auto moved = store.value().set_aside(noon);
  bool back = !root || ::seteuid(0) == 0;
  fs::permissions(data, fs::perms::owner_all);
  REQUIRE((changed && back));
  REQUIRE_FALSE(moved);
  CHECK_THAT(moved.error().message,
             Catch::Contains(data.string()) && Catch::Contains(noon_suffix));
  CHECK(files_in(data) == files);
}

TEST_CASE("reset: a joined machine joins anew, with another key (case 69)") {
  world w;
  auto outcome = w.join(true);
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK_FALSE(outcome.already_joined);
  CHECK_THAT(outcome.message,
             Catch::Contains(w.data().string() + ", named *" + w.suffix()) &&
                 !Catch::Contains("--reset"));
  w.check_old_is_aside();
  REQUIRE(w.gateway.requests.size() == 1);
  auto now = files_in(w.data());
  CHECK(now.size() == w.old.size() + 2);
  CHECK(now.at("node.key") != w.old.at("node.key"));
  CHECK(w.join(false).already_joined);
}

TEST_CASE("reset: without anything to rename it is a join (case 69)") {
  world w;
  fs::remove_all(w.data());
  auto outcome = w.join(true);
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK_THAT(outcome.message, !Catch::Contains("old files"));
}

TEST_CASE("reset: an identity that does not load is set aside (case 69)") {
  world w;
  fs::remove(w.data() / "identity.json");
  fs::create_symlink(w.folder / "nowhere", w.data() / "identity.json");
  REQUIRE(w.join(false).exit_code == join_exit::local);
  CHECK(w.join(true).exit_code == join_exit::joined);
}

TEST_CASE(
    "reset: what can be checked is checked before anything is renamed "
    "(case 69)") {
  world w;
  auto token = std::string{fake_gateway::token};
  auto code = join_exit::usage;
  SECTION("no token") {
    token = "";
  }
  SECTION("half a token") {
    token.resize(token.size() / 2);
  }
  SECTION("two tokens") {
    token += "\n" + token;
  }
  SECTION("a pin that is none") {
    w.config.serving_ca_spki_pin = "sha256/AAAA";
  }
  SECTION("a gateway that is none") {
    w.config.gateway_url = "http://gw.example.com";
  }
  SECTION("no key file") {
    fs::remove(w.config.join_encryption_jwk);
  }
  SECTION("a key file with another pin") {
    code = join_exit::untrusted;
    write_text(w.config.join_encryption_jwk,
               pki::to_jwk(pki::private_key::generate().pub()));
  }
  SECTION("hardware that cannot be read") {
    code = join_exit::local;
    w.machine.readable = false;
  }
  SECTION("another bcd runs") {
    code = join_exit::local;
    auto other = identity_store::open(w.data());
    REQUIRE(other);
    CHECK(w.join(true).exit_code == code);
    CHECK(files_in(w.data()) == w.old);
    return;
  }
  auto outcome = w.join(true, token);
  CHECK(outcome.exit_code == code);
  CHECK_THAT(outcome.message, !Catch::Contains("old files"));
  CHECK(files_in(w.data()) == w.old);
  CHECK(w.gateway.requests.empty());
}

TEST_CASE(
    "reset: a join that fails afterwards says where the old files are "
    "(case 69)") {
  world w;
  auto code = join_exit::untrusted;
  bool same_csr = false;
  auto fate = [&w](exchange::fate what, int times) {
    for (int i = 0; i < times; ++i)
      w.gateway.script.push_back([what](auto&, const auto&) {
        return exchange{what, 0, "", {}, "cable cut"};
      });
  };
  auto answer = [&w](auto make) {
    w.gateway.script.push_back(
        [make](auto& g, const auto& r) { return g.answered(make(g, r)); });
  };
  SECTION("refused") {
    code = join_exit::refused;
    answer([](fake_gateway& g, const wire::join_request& r) {
      return g.failed(errc::access_denied, r);
    });
  }
  SECTION("a gateway of another CA") {
    fate(exchange::fate::untrusted, 1);
  }
  SECTION("a refusal that nobody signed") {
    same_csr = true;
    answer([](fake_gateway& g, const wire::join_request& r) {
      auto a = g.failed(errc::access_denied, r);
      a.time.reset();
      return a;
    });
  }
  SECTION("an answer for another role") {
    same_csr = true;
    answer([](fake_gateway& g, const wire::join_request& r) {
      return g.signed_answer(
          wire::join_answer::kind::joined,
          wire::encode(g.joined_body(r, pki::certificate_role::site)), r);
    });
  }
  SECTION("answers that are lost") {
    code = join_exit::unreachable;
    same_csr = true;
    fate(exchange::fate::lost, 4);
  }
  SECTION("not reached at all") {
    code = join_exit::unreachable;
    fate(exchange::fate::unreachable, 1);
  }
  auto outcome = w.join(true);
  CHECK(outcome.exit_code == code);
  CHECK_THAT(outcome.message,
             Catch::Contains(w.data().string() + ", named *" + w.suffix()) &&
                 Catch::EndsWith("run bcd join again without --reset, then "
                                 "systemctl restart bcd"));
  w.check_old_is_aside();
  CHECK_FALSE(fs::exists(w.data() / "identity.json"));
  CHECK_FALSE(fs::exists(w.data() / "node.key"));
  // As it says; an answer that was lost is asked for with the same CSR.
  CHECK(w.join(false).exit_code == join_exit::joined);
  CHECK((w.gateway.requests.front().csr == w.gateway.requests.back().csr) ==
        same_csr);
  w.check_old_is_aside();
}
