// spec: DESIGN section 11; CASES 136: what others wrote does not write to an
// operator's terminal.
#include "ops/cli/display_text.hpp"

#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bc;

TEST_CASE("display_text: what moves, hides or reorders is escaped (case 136)",
          "[ops][display]") {
  struct row {
    std::string given, shown;
  };
  using namespace std::string_literals;
  for (const auto& r : std::vector<row>{
           {"rack-b7", "rack-b7"},
           {"Grüße 名前 🖥", "Grüße 名前 🖥"},
           {"\x1b[2J\x1b[1;1H", "\\x1b[2J\\x1b[1;1H"},
           {"a\r\nb\tc\x7f", "a\\x0d\\x0ab\\x09c\\x7f"},
           {"nul\0nul"s, "nul\\x00nul"},
           {"\xc2\x9b"
            "31m",
            "\\u009b31m"},
           {"\u202Egpj.exe", "\\u202egpj.exe"},
           {"a\u200bb\u2028c\u2066d\ufeff", "a\\u200bb\\u2028c\\u2066d\\ufeff"},
           {"\U000e0041", "\\U000e0041"},
           {"\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80",
            "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"},
           {"cut \xe5\x90", "cut \\xe5\\x90"},
       })
    CHECK(cli::printable(r.given) == r.shown);
}

TEST_CASE("display_text: random bytes never reach the terminal as they are",
          "[ops][display]") {
  std::mt19937 random{136};
  std::uniform_int_distribution<int> byte{0, 255}, size{0, 40};
  for (int i = 0; i < 20'000; ++i) {
    std::string text(static_cast<std::size_t>(size(random)), 'x');
    for (auto& c : text)
      c = static_cast<char>(byte(random));
    auto shown = cli::printable(text);
    for (std::size_t at = 0; at < shown.size(); ++at) {
      auto c = static_cast<unsigned char>(shown[at]);
      REQUIRE((c >= 0x20 && c != 0x7f));
      // C1 controls are 0xc2 and 0x80 to 0x9f.
      if (c == 0xc2)
        REQUIRE(static_cast<unsigned char>(shown[at + 1]) >= 0xa0);
    }
    REQUIRE(cli::printable(shown) == shown);
    REQUIRE(cli::width_of(cli::cut_to(shown, 10)) <= 10);
  }
}

TEST_CASE("display_text: JSON stays the same value", "[ops][display]") {
  json::document doc;
  doc.SetObject();
  const std::string hostile =
      "\xc2\x9b"
      "2J \u202e \u2028 \U000e0041 é";
  doc.AddMember("hostname", json::value{hostile.c_str(), doc.GetAllocator()},
                doc.GetAllocator());
  auto text = cli::printable_json(json::to_text(doc));
  CHECK(text == R"({"hostname":"\u009b2J \u202e \u2028 \udb40\udc41 é"})");
  auto back = json::parse_object(text);
  REQUIRE(back);
  CHECK(json::reader{back.value()}.text("hostname").value() == hostile);
}

TEST_CASE("display_text: columns are those of a terminal", "[ops][display]") {
  CHECK(cli::width_of("abc") == 3);
  CHECK(cli::width_of("é") == 1);
  CHECK(cli::width_of("e\u0301") == 1);
  CHECK(cli::width_of("名前") == 4);
  CHECK(cli::cut_to("rack-b7-u12", 20) == "rack-b7-u12");
  CHECK(cli::cut_to("rack-b7-u12", 8) == "rack-b7…");
  CHECK(cli::cut_to("名前名前", 5) == "名前…");
}
