// spec: RFC 4648; DESIGN section 10 (ids)
#include "base/encoding.hpp"

#include <catch2/catch.hpp>

using namespace bc;

namespace {

struct row {
  const char* plain;
  const char* padded;
  const char* url;
};

bytes counting(std::size_t size) {
  bytes out;
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(static_cast<std::uint8_t>(i * 37 + 251));
  return out;
}

}  // namespace

TEST_CASE("base64: the vectors of RFC 4648 section 10") {
  for (const auto& [plain, padded, url] :
       std::initializer_list<row>{{"", "", ""},
                                  {"f", "Zg==", "Zg"},
                                  {"fo", "Zm8=", "Zm8"},
                                  {"foo", "Zm9v", "Zm9v"},
                                  {"foob", "Zm9vYg==", "Zm9vYg"},
                                  {"fooba", "Zm9vYmE=", "Zm9vYmE"},
                                  {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
                                  {"\xfb\xff", "+/8=", "-_8"}}) {
    CHECK(to_base64(as_bytes(plain)) == padded);
    CHECK(to_base64url(as_bytes(plain)) == url);
    CHECK(as_text(from_base64(padded).value()) == plain);
    CHECK(as_text(from_base64url(url).value()) == plain);
  }
}

TEST_CASE("base64: one spelling for each value") {
  for (const char* bad : {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v\n",
                          " Zm9v", "Zm-v", "=", "====", "Zg==Zg==", "Z"})
    CHECK_FALSE(from_base64(bad));
  for (const char* bad : {"Zg==", "Zh", "Zm9", "Z", "Zm+v", "Zm9v ", "Zm/v"})
    CHECK_FALSE(from_base64url(bad));
}

TEST_CASE("encoding: every length round-trips") {
  for (std::size_t size = 0; size < 70; ++size) {
    auto data = counting(size);
    CHECK(from_base64(to_base64(data)).value() == data);
    CHECK(from_base64url(to_base64url(data)).value() == data);
    CHECK(from_hex(to_hex(data)).value() == data);
  }
}

TEST_CASE("hex: lower case out, either case in") {
  CHECK(to_hex(bytes{0x00, 0xab, 0xff}) == "00abff");
  CHECK(from_hex("00ABff").value() == bytes{0x00, 0xab, 0xff});
  for (const char* bad : {"0", "0g", "0x", " 00", "00 "})
    CHECK_FALSE(from_hex(bad));
}

TEST_CASE("crockford: lengths, order and alphabet") {
  CHECK(to_crockford(bytes(16)) == std::string(26, '0'));
  CHECK(to_crockford(bytes(16, 0xff)) == "7" + std::string(25, 'z'));
  CHECK(to_crockford(bytes(32, 0xff)) == "1" + std::string(51, 'z'));
  CHECK(to_crockford(bytes{0x08, 0x42}) == "0222");
  CHECK(to_crockford({}).empty());
  // The order of the texts is the order of the bytes.
  CHECK(to_crockford(bytes{0x01, 0xff}) < to_crockford(bytes{0x02, 0x00}));
  std::string alphabet;
  for (int c = 0; c < 256; ++c)
    if (is_crockford(static_cast<char>(c)))
      alphabet += static_cast<char>(c);
  CHECK(alphabet == "0123456789abcdefghjkmnpqrstvwxyz");
}

TEST_CASE("utf-8: well-formed text alone (cases 30, 138)") {
  for (const char* good : {"", "plain", "\u00e4\u20ac\U0001f600", "\u07ff",
                           "\ud7ff", "\U0010ffff"})
    CHECK(is_utf8(good));
  CHECK(is_utf8(std::string("\0", 1)));
  for (const char* bad :
       {"\xff", "\xfe", "\x80", "a\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x82\x41", "\xf0\x9f\x98"}) {
    INFO(to_hex(as_bytes(bad)));
    CHECK_FALSE(is_utf8(bad));
  }
}
