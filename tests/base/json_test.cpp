// spec: DESIGN section 10; CASES 138, 140, 141, 142, 144
#include "base/json.hpp"

#include <catch2/catch.hpp>

using namespace bc;

namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

void check_bad(std::string_view text) {
  INFO(text.substr(0, 80));
  auto doc = json::parse(text);
  REQUIRE_FALSE(doc);
  CHECK(doc.error().code == errc::invalid_input);
}

}  // namespace

TEST_CASE("json: strict text") {
  for (const char* bad :
       {"",         " ",          "{",       "{}}",       "{} {}",
        "[1,]",     "{\"a\":1,}", "{'a':1}", "nul",       "NaN",
        "Infinity", "01",         "1.",      "+1",        "// c\n1",
        "/* c */1", "\"\t\"",     "\"\\x\"", "{\"a\" 1}", "[1 2]"})
    check_bad(bad);
  CHECK(json::parse(" {\"a\": [1, -2.5e3, true, null, \"\\u00e4\"]} \n"));
}

TEST_CASE("json: 32 levels and no more (case 140)") {
  CHECK(json::parse(nested(32)));
  check_bad(nested(33));
  check_bad(nested(100'000));
  check_bad(std::string(1'000'000, '['));
}

TEST_CASE("json: a key given twice (case 141)") {
  check_bad(R"({"a":1,"a":1})");
  check_bad(R"({"x":{"a":1,"b":2,"a":3}})");
  check_bad(R"({"a":1,"\u0061":2})");
  CHECK(json::parse(R"({"a":{"a":1},"b":{"a":1}})"));
}

TEST_CASE("json: a key given twice among many (case 141)") {
  auto object_of = [](int keys, int again) {
    std::string out = "{";
    for (int i = 0; i < keys; ++i)
      out += "\"a key of some length " + std::to_string(i) + "\":[{}],";
    return out + "\"a key of some length " + std::to_string(again) + "\":0}";
  };
  for (int keys : {1, 15, 16, 17, 18, 1000}) {
    INFO(keys);
    CHECK(json::parse(object_of(keys, keys)));
    for (int again : {0, 15, 16, 17})
      if (again < keys)
        check_bad(object_of(keys, again));
  }
}

TEST_CASE("json: every kind of value is kept") {
  auto text =
      R"([null,true,false,0,-1,2147483648,-2147483649,9223372036854775807,)"
      R"(18446744073709551615,1.5,"a\"b","",[],{},{"k":[{"l":1}]}])";
  auto doc = json::parse(text);
  REQUIRE(doc);
  CHECK(json::to_text(doc.value()) == text);
}

TEST_CASE("json: a value copied from a document outlives it") {
  json::document copy;
  {
    auto doc = json::parse(
        R"({"a key that is longer than a short text":["and its value too"]})");
    REQUIRE(doc);
    copy.CopyFrom(doc.value(), copy.GetAllocator());
  }
  CHECK(json::to_text(copy) ==
        R"({"a key that is longer than a short text":["and its value too"]})");
}

TEST_CASE("json: NUL, as an escape and raw (case 142)") {
  check_bad(R"({"a":"x\u0000y"})");
  check_bad(R"({"a\u0000":1})");
  check_bad(std::string("{\"a\":\"x\0y\"}", 11));
  check_bad(std::string("{}\0", 3));
  check_bad(std::string("{}\0garbage", 10));
  check_bad(std::string("\0{}", 3));
}

TEST_CASE("json: text is UTF-8 (case 138)") {
  check_bad("\"\xff\"");
  check_bad("\"\xc0\x80\"");
  check_bad("\"\xed\xa0\x80\"");
  check_bad("\"\\ud800\"");
  check_bad("\xef\xbb\xbf{}");
  for (const char* bad : {"\xff", "{} \x80", "[\xc3\xa4]", "\xf0\x9f\x98\x80"})
    check_bad(bad);
  for (const char* good : {"\"\xc3\xa4\"", "\"\xf0\x9f\x98\x80\"",
                           "\"\\ud83d\\ude00\"", "{\"\xe2\x82\xac\":1}"})
    CHECK(json::parse(good));
}

TEST_CASE("json: half a surrogate pair is not UTF-8 (case 138)") {
  check_bad(R"("\udc00")");
  check_bad(R"("a \udfffx")");
  check_bad(R"({"\udc00":1})");
  check_bad(R"({"a":["\ud83d\ude00\ude00"]})");
}

// Whatever its place in memory: nothing behind the text is looked at.
TEST_CASE("json: text that ends within a character (case 138)") {
  for (const char* end : {"\"\xf0", "\"\xf4", "\"\xe2", "\"\xc3", "\"\xf0\x9f",
                          "\"\xf0\"", "\"\xf0\x9f\"", "{\"a\":\"\xf0",
                          "{\"\xe2", "\"\\ud83d", "\"\\ud83d\\u", "\"\\"})
    for (std::size_t before = 0; before <= 40; ++before) {
      auto text = std::string(before, ' ') + end;
      check_bad(text);
      text = end;
      text.insert(text.find('"') + 1, std::string(before, 'x'));
      check_bad(text);
    }
}

TEST_CASE("json: the fault names the byte") {
  auto doc = json::parse("{\"a\":1,\"a\":2}");
  REQUIRE_FALSE(doc);
  CHECK_THAT(doc.error().message,
             Catch::Contains("at byte ") && Catch::Contains("given twice"));
}

TEST_CASE("json: integers have neither fraction nor exponent (case 144)") {
  for (const char* bad : {"1.0", "1e2", "1.5", "\"1\"", "true", "null",
                          "9223372036854775808", "[1]"}) {
    auto doc = json::parse_object("{\"n\":" + std::string{bad} + "}");
    REQUIRE(doc);
    auto n = json::reader{doc.value()}.integer("n");
    REQUIRE_FALSE(n);
    CHECK(n.error().path == "/n");
  }
  auto doc = json::parse_object(
      R"({"low":-9223372036854775808,"high":9223372036854775807})");
  json::reader from{doc.value()};
  CHECK(from.integer("low").value() == INT64_MIN);
  CHECK(from.integer("high").value() == INT64_MAX);
}

TEST_CASE("json: faults name the field") {
  auto doc =
      json::parse_object(R"({"o":{"t":1,"list":["a",2],"b":"x","none":null}})");
  REQUIRE(doc);
  auto from = json::reader{doc.value()}.object("o").value();
  CHECK(from.text("t").error().path == "/o/t");
  CHECK(from.text("missing").error().path == "/o/missing");
  CHECK(from.texts("list").error().path == "/o/list/1");
  CHECK(from.base64("b").error().path == "/o/b");
  CHECK(from.optional_text("none").error().path == "/o/none");
  CHECK_FALSE(from.boolean("t"));
  CHECK_FALSE(from.object("t"));
  CHECK(from.optional_text("missing").value() == std::nullopt);
  CHECK(from.optional_integer("t").value() == 1);
  CHECK(from.boolean_or("missing", true).value());
  CHECK(from.texts_or_none("missing").value().empty());
  CHECK_FALSE(json::parse_object("[]"));
}

TEST_CASE("json: what is written can be read") {
  json::writer out;
  out.begin_object()
      .field("text", "quote \" slash \\ line \n \u00e4")
      .field("empty", std::string_view{})
      .field("n", 7)
      .field("yes", true)
      .field("absent", std::optional<std::string>{})
      .field("list", std::vector<std::string>{"a", "b"})
      .key("raw")
      .raw("{\"x\":1}")
      .key("none")
      .null()
      .end_object();
  CHECK(out.str() ==
        "{\"text\":\"quote \\\" slash \\\\ line \\n \u00e4\",\"empty\":\"\","
        "\"n\":7,\"yes\":true,\"list\":[\"a\",\"b\"],\"raw\":{\"x\":1},"
        "\"none\":null}");
  auto doc = json::parse_object(out.str());
  REQUIRE(doc);
  CHECK(json::to_text(doc.value()) == out.str());
}

TEST_CASE("json: a number is read to the last bit, and so written the same") {
  for (const char* text :
       {"[59999900002000000000000]", "[-59999900002000000000000]",
        "[1.7976931348623157e308]", "[5e-324]", "[2.2250738585072011e-308]",
        "{\"a\":0.1,\"b\":[9007199254740993.0]}"}) {
    CAPTURE(text);
    auto first = json::parse(text);
    REQUIRE(first);
    auto written = json::to_text(first.value());
    auto again = json::parse(written);
    REQUIRE(again);
    CHECK(json::to_text(again.value()) == written);
  }
  auto read = [](const char* text) {
    return json::parse(text).value()[0].GetDouble();
  };
  CHECK(read("[59999900002000000000000]") == 59999900002000000000000.0);
  CHECK(read("[-5.9999900002e+22]") == -5.9999900002e+22);
  CHECK(read("[2.2250738585072011e-308]") == 2.2250738585072011e-308);
}
