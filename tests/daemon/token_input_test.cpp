// spec: joining#run-it-on-the-server; CASES 1-5, 8, 170
#include "daemon/token_input.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <unistd.h>

using namespace bc;
using bc::daemon::clean_token;

namespace {

const std::string id = "jt_01k5w000000000000000000000";
const std::string secret = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE";
const std::string token = "bcjt_" + id + "." + secret;

void check_accepted(const std::string& given) {
  auto t = clean_token(as_bytes(given));
  REQUIRE(t);
  CHECK(t.value().expose_text() == token);
}

void check_refused(const std::string& given, const std::string& says) {
  auto t = clean_token(as_bytes(given));
  INFO(given.substr(0, 200));
  REQUIRE_FALSE(t);
  CHECK_THAT(t.error().message, Catch::Contains(says));
  CHECK_THAT(t.error().message, !Catch::Contains(secret.substr(0, 6)));
  CHECK_THAT(t.error().message, !Catch::Contains("01k5w"));
}

// What `cat file | bcd join` does.
result<secret_bytes> piped(const std::string& text) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  auto t = daemon::read_token(ends[0]);
  ::close(ends[0]);
  return t;
}

constexpr const char* unlike = "does not look like bcjt_…";

}  // namespace

TEST_CASE("token: line ends and blanks around it are dropped (cases 1, 2)") {
  for (const auto& given : {token, token + "\n", token + "\r\n",
                            "\n\n  " + token + " \t\n", "\t" + token})
    check_accepted(given);
}

TEST_CASE("token: what chat and editors add is refused (case 2)") {
  check_refused("\xef\xbb\xbf" + token, unlike);
  check_refused("\u201c" + token + "\u201d", unlike);
  check_refused("bcjt_" + id + ".Ab\u00a0" + secret.substr(4), unlike);
  check_refused("bcjt_" + id + " ." + secret, unlike);
  check_refused("\u00a0" + token, unlike);
}

TEST_CASE("token: two lines and more than 4096 bytes are refused (case 3)") {
  check_refused(token + "\n" + token + "\n", "more than one line");
  check_refused(token + "\nx", "more than one line");
  check_accepted(token + std::string(4096 - token.size(), ' '));
  check_refused(token + std::string(4097 - token.size(), ' '), "4096");
}

TEST_CASE("token: an id is no token (case 4)") {
  check_refused(id, unlike);
  check_refused(id + "." + secret, unlike);
}

TEST_CASE("token: letters in another case, and look-alikes (case 5)") {
  check_refused("BCJT_" + id + "." + secret, unlike);
  check_refused("bcjt_JT_" + id.substr(3) + "." + secret, unlike);
  check_refused("bcjt_jt_01K5w000000000000000000000." + secret, unlike);
  for (char c : {'i', 'l', 'o', 'u'})
    check_refused(
        "bcjt_jt_01k5w00000000000000000000" + std::string{c} + "." + secret,
        unlike);
}

TEST_CASE("token: dots, empty and enormous parts (case 8)") {
  check_refused("bcjt_" + id + "." + secret + "." + secret, unlike);
  check_refused("bcjt_." + secret, unlike);
  check_refused("bcjt_" + id + ".", unlike);
  check_refused("bcjt_" + id, unlike);
  check_refused(".", unlike);
  check_refused(token + "A", unlike);
  check_refused("bcjt_" + id + std::string(1, '\0') + "." + secret, unlike);
  check_refused("bcjt_" + id + "." + std::string(1 << 20, 'A'), "4096");
  check_refused("", "no join token given");
  check_refused(" \n", "no join token given");
}

TEST_CASE("token: read from a pipe up to its end (cases 1, 3, 8)") {
  ::unsetenv(daemon::token_variable);
  auto t = piped(token + "\n");
  REQUIRE(t);
  CHECK(t.value().expose_text() == token);
  CHECK_FALSE(piped(""));
  CHECK_FALSE(piped(token + std::string(4097 - token.size(), ' ')));
  CHECK_FALSE(daemon::read_token(-1));
}

TEST_CASE(
    "token: the variable is used first and is gone afterwards "
    "(cases 1, 170)") {
  ::setenv(daemon::token_variable, (token + "\n").c_str(), 1);
  const char* where = std::getenv(daemon::token_variable);
  auto t = piped("not this");
  REQUIRE(t);
  CHECK(t.value().expose_text() == token);
  CHECK(std::getenv(daemon::token_variable) == nullptr);
  // The old text's memory, which /proc/PID/environ may still show.
  CHECK(std::string{where}.find(secret) == std::string::npos);
  ::setenv(daemon::token_variable, "", 1);
  CHECK_FALSE(piped(token));
}

TEST_CASE("token: the program for trials may send any one line") {
  using daemon::token_text;
  auto any = [](const std::string& given) {
    return clean_token(as_bytes(given), token_text::any);
  };
  auto t = any(" bcjt_not-a-token \n");
  REQUIRE(t);
  CHECK(t.value().expose_text() == "bcjt_not-a-token");
  check_refused("bcjt_not-a-token", "does not look like bcjt_");
  CHECK_FALSE(any(""));
  CHECK_FALSE(any("one\ntwo"));
  CHECK_FALSE(any(std::string(4097, 'a')));
}
