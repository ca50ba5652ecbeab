// spec: X.690 sections 8 to 11; CASES 98
#include "pki/der.hpp"

#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;

namespace {

bool formed(const bytes& der) {
  return der::well_formed(der);
}

}  // namespace

TEST_CASE("der: a length has one form") {
  auto reads = [](bytes head, std::size_t size) {
    head.resize(head.size() + size, 0x41);
    der::reader in{head};
    auto e = in.next();
    return e && e->content.size() == size && in.at_end();
  };
  CHECK(reads({0x04, 0x00}, 0));
  CHECK(reads({0x04, 0x7f}, 127));
  CHECK(reads({0x04, 0x81, 0x80}, 128));
  CHECK(reads({0x04, 0x82, 0x01, 0x00}, 256));
  CHECK(reads({0x04, 0x83, 0x01, 0x00, 0x00}, 65536));
  CHECK_FALSE(reads({0x04, 0x81, 0x7f}, 127));
  CHECK_FALSE(reads({0x04, 0x82, 0x00, 0x80}, 128));
  CHECK_FALSE(reads({0x04, 0x80}, 0));
  CHECK_FALSE(reads({0x04, 0x84, 0x01, 0x00, 0x00, 0x00}, 0));
  CHECK_FALSE(reads({0x04, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0));
  CHECK_FALSE(reads({0x04}, 0));
  CHECK_FALSE(reads({0x1f, 0x01, 0x00}, 0));
  bytes cut{0x04, 0x03, 1, 2};
  CHECK_FALSE(der::reader{cut}.next());
}

TEST_CASE("der: what wrap writes is read back at every length") {
  for (std::size_t size : {0u, 1u, 127u, 128u, 255u, 256u, 65535u, 65536u}) {
    bytes content(size, 0x55);
    auto whole = der::wrap(der::octet_string, {content});
    der::reader in{whole};
    auto e = in.take(der::octet_string);
    REQUIRE(e.has_value());
    CHECK(to_bytes(e->content) == content);
    CHECK(in.at_end());
  }
}

TEST_CASE("der: each universal type has one encoding") {
  CHECK(formed({0x01, 1, 0xff}));
  CHECK_FALSE(formed({0x01, 1, 0x01}));
  CHECK_FALSE(formed({0x01, 0}));
  CHECK(formed({0x02, 1, 0}));
  CHECK(formed({0x02, 2, 0, 0x80}));
  CHECK_FALSE(formed({0x02, 0}));
  CHECK_FALSE(formed({0x02, 2, 0, 0x7f}));
  CHECK_FALSE(formed({0x02, 2, 0xff, 0x80}));
  CHECK(formed({0x03, 2, 7, 0x80}));
  CHECK_FALSE(formed({0x03, 2, 7, 0x81}));
  CHECK_FALSE(formed({0x03, 1, 1}));
  CHECK_FALSE(formed({0x03, 0}));
  CHECK(formed({0x05, 0}));
  CHECK_FALSE(formed({0x05, 1, 0}));
  CHECK(formed({0x06, 3, 0x55, 4, 3}));
  CHECK_FALSE(formed({0x06, 0}));
  CHECK_FALSE(formed({0x06, 2, 0x55, 0x80}));
  CHECK_FALSE(formed({0x06, 3, 0x55, 0x80, 0x01}));
  CHECK(formed({0x0c, 2, 0xc3, 0xa4}));
  CHECK_FALSE(formed({0x0c, 1, 0xc3}));
  CHECK_FALSE(formed({0x13, 1, '@'}));
  CHECK_FALSE(formed({0x16, 1, 0x80}));
  CHECK_FALSE(formed({0x1e, 1, 0}));
  CHECK_FALSE(formed({0x24, 0}));        // OCTET STRING in pieces
  CHECK_FALSE(formed({0x10, 0}));        // SEQUENCE that is primitive
  CHECK_FALSE(formed({0x09, 1, 0x40}));  // REAL
  CHECK(formed({0x80, 2, 1, 2}));
  CHECK_FALSE(formed({0xa0, 2, 1, 2}));
}

TEST_CASE("der: nesting has an end (case 89)") {
  bytes nested;
  for (int i = 0; i < 15; ++i)
    nested = der::wrap(der::sequence, {nested});
  CHECK(der::well_formed(nested));
  for (int i = 0; i < 3; ++i)
    nested = der::wrap(der::sequence, {nested});
  CHECK_FALSE(der::well_formed(nested));
}

TEST_CASE("der: times change their type at 2050, without fractions (case 98)") {
  auto written = [](const char* text) {
    return der::write_time(from_rfc3339(text).value());
  };
  auto expect = [](std::uint8_t tag, std::string_view text) {
    return der::wrap(tag, {as_bytes(text)});
  };
  CHECK(written("2026-11-29T18:09:21.999Z") ==
        expect(der::utc_time, "261129180921Z"));
  CHECK(written("2049-12-31T23:59:59Z") ==
        expect(der::utc_time, "491231235959Z"));
  CHECK(written("2050-01-01T00:00:00Z") ==
        expect(der::generalized_time, "20500101000000Z"));
  for (const char* text :
       {"1999-12-31T23:59:59Z", "2026-11-29T18:09:21Z", "2049-12-31T23:59:59Z",
        "2050-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    auto der = written(text);
    der::reader in{der};
    CHECK(der::read_time(*in.next()) == from_rfc3339(text).value());
  }
}

TEST_CASE("der: times of other forms are refused (case 98)") {
  auto reads = [](std::uint8_t tag, std::string_view text) {
    return der::read_time({tag, as_bytes(text), {}}).has_value();
  };
  CHECK(reads(der::utc_time, "261129180921Z"));
  CHECK_FALSE(reads(der::utc_time, "2611291809Z"));
  CHECK_FALSE(reads(der::utc_time, "261129180921"));
  CHECK_FALSE(reads(der::utc_time, "261329180921Z"));
  CHECK_FALSE(reads(der::utc_time, "261129180921+0000"));
  CHECK_FALSE(reads(der::generalized_time, "20500101000000.5Z"));
  CHECK_FALSE(reads(der::generalized_time, "20261129180921Z"));
  CHECK_FALSE(reads(0x13, "261129180921Z"));
}
