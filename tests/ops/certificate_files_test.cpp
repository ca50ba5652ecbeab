// Certificates are taken anew from their files (docs/deploy.md).
#include "ops/serve/certificate_files.hpp"

#include "ops/serve/expiry.hpp"
#include "ops/serve/process.hpp"
#include "pki/certificate.hpp"
#include "pki/internal.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/forked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace bc;
using serve::renewal;
using what = renewal::what;

namespace {

/// The files of one listener, and what was taken from them.
struct world {
  temporary_folder folder;
  time_point now = std::chrono::floor<seconds>(bc::system_clock{}.now());
  pki::issuer ca = pki::make_ca("test", now).value();
  std::vector<serve::tls_material> taken;
  std::atomic<int> times = 0;
  result<void> answer = ok();

  world() { write(issue()); }

  [[nodiscard]] pki::issuer issue() const {
    return pki::issue_server_certificate(ca, {"localhost"}, now).value();
  }
  void put(const std::string& name, std::string_view text) const {
    const auto path = folder / name;
    std::ofstream{path} << text;
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
  }
  void write(const pki::issuer& who) const {
    put("crt", pki::certificate_pem(who.certificate));
    put("key", who.key.pkcs8_pem().expose_text());
  }
  [[nodiscard]] serve::tls_files files() const {
    put("ca", pki::certificate_pem(ca.certificate));
    return {{folder / "crt", folder / "key"}, folder / "ca"};
  }
  [[nodiscard]] serve::certificate_files watched(
      bool tried_when_asked = false) {
    std::vector<serve::renewable> all;
    all.push_back({"listen", files(), serve::read_tls(files()).value(),
                   [this](const serve::tls_material& m) {
                     if (answer)
                       taken.push_back(m);
                     ++times;
                     return answer;
                   },
                   tried_when_asked});
    return serve::certificate_files{std::move(all)};
  }
};

std::vector<what> became(const std::vector<renewal>& all) {
  std::vector<what> out;
  for (const auto& one : all)
    out.push_back(one.became);
  return out;
}

const std::vector<what> nothing, one_taken{what::taken},
    one_refused{what::refused}, one_unchanged{what::unchanged};

}  // namespace

TEST_CASE("certificate files: a change is taken once two looks saw the same",
          "[ops]") {
  world w;
  auto files = w.watched();
  CHECK(files.look(w.now).empty());
  auto next = w.issue();
  w.write(next);
  CHECK(files.look(w.now).empty());
  // It went on changing.
  next = w.issue();
  w.write(next);
  CHECK(files.look(w.now).empty());
  CHECK(w.taken.empty());
  CHECK(became(files.look(w.now)) == one_taken);
  REQUIRE(w.taken.size() == 1);
  CHECK(w.taken[0].identity->chain_pem ==
        pki::certificate_pem(next.certificate));
  CHECK(w.taken[0].ca_pem == pki::certificate_pem(w.ca.certificate));
  CHECK(files.look(w.now).empty());
  // The authority alone is a change too.
  w.ca = pki::make_ca("another", w.now).value();
  static_cast<void>(w.files());
  CHECK(files.look(w.now).empty());
  CHECK(became(files.look(w.now)) == one_taken);
}

TEST_CASE("certificate files: who asks is answered at once", "[ops]") {
  world w;
  auto files = w.watched();
  CHECK(became(files.look_asked(w.now)) == one_unchanged);
  w.write(w.issue());
  CHECK(became(files.look_asked(w.now)) == one_taken);
  CHECK(became(files.look_asked(w.now)) == one_unchanged);
  CHECK(w.taken.size() == 1);
}

TEST_CASE("certificate files: who asks has unchanged ones tried", "[ops]") {
  world w;
  auto files = w.watched(true);
  CHECK(became(files.look_asked(w.now)) == one_unchanged);
  CHECK(w.taken.size() == 1);
  // Nobody asked.
  CHECK(files.look(w.now).empty());
  CHECK(files.look(w.now).empty());
  CHECK(w.times == 1);
  w.answer = fail(errc::unavailable, "it is stopping");
  auto refused = files.look_asked(w.now);
  REQUIRE(became(refused) == one_refused);
  CHECK(refused.front().why == "it is stopping");
  // It was no change.
  CHECK(files.look(w.now).empty());
}

TEST_CASE("certificate files: who asks hears that unchanged ones have ended",
          "[ops]") {
  world w;
  auto files = w.watched(GENERATE(false, true));
  const auto later = w.now + seconds{86'400L * 365 * 20};
  auto refused = files.look_asked(later);
  REQUIRE(became(refused) == one_refused);
  CHECK(refused.front().why.starts_with("the certificate ended at "));
  CHECK(w.times == 0);
  CHECK(files.look(later).empty());
}

TEST_CASE(
    "certificate files: what cannot be used is refused once, and the "
    "next is taken",
    "[ops]") {
  world w;
  auto files = w.watched();
  auto next = w.issue();
  w.write(next);
  std::string word;
  SECTION("a file is gone") {
    std::filesystem::remove(w.folder / "crt");
    word = "crt";
  }
  SECTION("others may read the key") {
    REQUIRE(::chmod((w.folder / "key").c_str(), 0644) == 0);
    word = "key";
  }
  SECTION("the certificate is over") {
    w.now += pki::internal_lifetime;
    word = "ended at";
  }
  SECTION("no certificate is in it") {
    w.put("crt", "no PEM");
  }
  SECTION("the CA's file is empty: no authority would be asked for") {
    w.put("ca", "");
    word = "ca: no certificate";
  }
  SECTION("whoever uses it says no") {
    w.answer = fail(errc::invalid_config, "the key is another's");
    word = "the key is another's";
  }
  CHECK(files.look(w.now).empty());
  auto refused = files.look(w.now);
  REQUIRE(became(refused) == one_refused);
  CHECK(refused[0].name == "listen");
  CHECK(refused[0].why.find(word) != std::string::npos);
  CHECK(w.taken.empty());
  // Once for what it is, but to who asks.
  for (int i = 0; i < 3; ++i)
    CHECK(files.look(w.now).empty());
  CHECK(became(files.look_asked(w.now)) == one_refused);
  w.answer = ok();
  w.now = std::chrono::floor<seconds>(bc::system_clock{}.now());
  static_cast<void>(w.files());
  w.write(w.issue());
  CHECK(files.look(w.now).empty());
  CHECK(became(files.look(w.now)) == one_taken);
}

TEST_CASE("certificate files: one of tomorrow is taken tomorrow", "[ops]") {
  world w;
  auto files = w.watched();
  const auto today = w.now;
  w.now += std::chrono::hours{24};
  w.write(w.issue());
  CHECK(files.look(today).empty());
  auto refused = files.look(today);
  REQUIRE(became(refused) == one_refused);
  CHECK(refused[0].why.find("valid from") != std::string::npos);
  CHECK(files.look(today).empty());
  CHECK(files.look(today).empty());
  CHECK(w.taken.empty());
  CHECK(files.look(w.now).empty());
  CHECK(became(files.look(w.now)) == one_taken);
  CHECK(files.look(w.now).empty());
}

TEST_CASE("certificate files: a CA's file without one is not read", "[ops]") {
  world w;
  const auto files = w.files();
  w.put("ca", "");
  auto read = serve::read_tls(files);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == errc::invalid_config);
}

TEST_CASE("certificate files: back to what is in use is no change", "[ops]") {
  world w;
  const auto first = w.issue();
  w.write(first);
  auto files = w.watched();
  w.write(w.issue());
  CHECK(files.look(w.now).empty());
  w.write(first);
  CHECK(files.look(w.now).empty());
  CHECK(files.look(w.now).empty());
  CHECK(w.times == 0);
}

TEST_CASE("certificate files: it looks by itself", "[ops]") {
  world w;
  auto files = w.watched();
  files.watch(milliseconds{5});
  w.write(w.issue());
  CHECK(test::eventually([&] { return w.times == 1; }));
}

TEST_CASE("expiry: of a renewed certificate the new end counts", "[ops]") {
  world w;
  const auto pem = [&](time_point from) {
    return pki::certificate_pem(
        pki::issue_server_certificate(w.ca, {"localhost"}, from)
            .value()
            .certificate);
  };
  const auto old = pem(w.now - std::chrono::days{30}), next = pem(w.now);
  serve::expiry_watch watch{{serve::dated("listen", old).value(),
                             serve::dated("internal", old).value()}};
  const auto line = [](const char* name, const std::string& of) {
    return std::string{"{certificate=\""} + name + "\"} " +
           std::to_string(to_millis(serve::dated("x", of).value().not_after) /
                          1000) +
           "\n";
  };
  watch.renewed("listen", next);
  watch.renewed("internal", "no PEM");
  watch.renewed("nobody", next);
  const auto text = watch.metrics();
  CHECK(text.find(line("listen", next)) != std::string::npos);
  CHECK(text.find(line("internal", old)) != std::string::npos);
  CHECK(text.find("nobody") == std::string::npos);
}

TEST_CASE("process: SIGHUP ends it, or waits to be taken", "[ops]") {
  // Ended by the signal: no code of its own.
  CHECK(testing::in_child([] {
          serve::stop_signals signals;
          ::raise(SIGHUP);
          ::_exit(0);
        }) != 0);
  CHECK(testing::in_child([] {
          serve::stop_signals signals{serve::stop_signals::hangup::waits};
          int taken = 0;
          ::kill(::getpid(), SIGHUP);
          signals.wait([&taken] {
            if (++taken < 3)
              ::kill(::getpid(), SIGHUP);
            else
              serve::stop_signals::end_wait();
          });
          ::_exit(taken == 3 ? 0 : 1);
        }) == 0);
}
