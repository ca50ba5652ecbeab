// CASES 147: the host's locale changes nothing.
#include "ops/cli/api_command.hpp"
#include "tests/support/cli_shell.hpp"

#include <clocale>
#include <locale>

using namespace bc;

namespace {

/// Numbers as in de_DE.
struct german : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Folding as in tr_TR, where i and I are not one letter's two cases.
struct turkish : std::ctype<char> {
  char do_tolower(char c) const override {
    return c == 'I' ? '\xfd' : std::ctype<char>::do_tolower(c);
  }
  char do_toupper(char c) const override {
    return c == 'i' ? '\xdd' : std::ctype<char>::do_toupper(c);
  }
  const char* do_tolower(char* from, const char* to) const override {
    for (; from != to; ++from)
      *from = do_tolower(*from);
    return to;
  }
  const char* do_toupper(char* from, const char* to) const override {
    for (; from != to; ++from)
      *from = do_toupper(*from);
    return to;
  }
};

/// The process as it would be had it taken the host's locale.
class hostile_locale {
 public:
  hostile_locale()
      : before_(std::locale::global(std::locale{
            std::locale{std::locale::classic(), new german}, new turkish})) {
    std::cout.imbue(std::locale{});
    // Where the machine has them; the facets above need no package.
    std::setlocale(LC_ALL, "tr_TR.UTF-8");
  }
  ~hostile_locale() {
    std::setlocale(LC_ALL, "C");
    std::locale::global(before_);
    std::cout.imbue(before_);
  }

 private:
  std::locale before_;
};

}  // namespace

TEST_CASE("locale: the same calls and the same output (case 147)",
          "[ops][locale]") {
  testing::recorder api{
      200,
      R"({"items":[{"id":"jt_1","usesLeft":1234567,"maxUses":10000,)"
      R"("expiresAt":"2020-01-02T03:04:05.678Z","expect":{"serial":"IiIi"}}],)"
      R"("id":"IDi","position":1234567,"usesLeft":1234567})"};
  testing::shell sh{api.url()};
  const std::vector<std::vector<std::string>> commands{
      {"join-tokens", "list", "--pool", "pool_I", "--all"},
      {"join-tokens", "list", "--pool", "pool_I", "--output", "json"},
      {"join-tokens", "create", "--pool", "pool_I", "--ttl", "24h",
       "--max-uses", "10000", "--key", "Iiı", "--expect-serial", "INV-IIII-01"},
      {"nodes", "list", "--status", "ADOPTED"},
      {"nodes", "list", "--output", "JSON"},
      {"joins", "simulate", "--token", "jt_1", "--serial", "inv-iiii-01"}};
  for (const auto& words : commands) {
    CAPTURE(words[0], words[1]);
    auto plain = sh.run(words);
    const auto sent = api.calls() > 0 ? api.last().body : "";
    testing::ended odd{};
    {
      hostile_locale there;
      odd = sh.run(words);
    }
    CHECK(odd.exit_code == plain.exit_code);
    CHECK(odd.out == plain.out);
    CHECK(odd.err == plain.err);
    CHECK((api.calls() > 0 ? api.last().body : "") == sent);
  }
  hostile_locale there;
  CHECK(cli::api_name("join-tokens-in-it") == "joinTokensInIt");
}
