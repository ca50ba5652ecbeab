// spec: DESIGN section 8 (key bundle)
#include "pki/bundle.hpp"

#include "base/json.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

constexpr auto wrong_secret =
    "BETTER_COMPUTE_SECRET does not open the key bundle";

const secret_bytes secret{std::string_view{"sixteen bytes or more"}};

struct made {
  key_bundle bundle = make_bundle("compute.example.com", noon).value();
  std::string sealed = seal_bundle(bundle, secret).value();
};

const made& one() {
  static const made m;
  return m;
}

std::string refusal(std::string_view sealed,
                    std::string_view with = secret.expose_text()) {
  auto opened = open_bundle(sealed, secret_bytes{with});
  if (opened)
    return {};
  CHECK(opened.error().code == errc::invalid_config);
  return opened.error().message;
}

std::string replaced(std::string text, std::string_view from,
                     std::string_view to) {
  auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("bundle: what is sealed opens with all its keys") {
  auto opened = open_bundle(one().sealed, secret);
  REQUIRE(opened.has_value());
  const auto &a = one().bundle, &b = *opened.value();
  CHECK(b.trust_domain == "compute.example.com");
  CHECK(b.created_at == noon);
  for (auto member : {&key_bundle::node_ca, &key_bundle::serving_ca,
                      &key_bundle::internal_ca, &key_bundle::join_signing}) {
    CHECK((a.*member).certificate == (b.*member).certificate);
    CHECK((a.*member).key.scalar() == (b.*member).key.scalar());
    auto view = parse_certificate((b.*member).certificate);
    REQUIRE(view.has_value());
    CHECK(view.value().key == (b.*member).key.pub());
    CHECK(view.value().is_ca == (member != &key_bundle::join_signing));
  }
  for (auto member :
       {&key_bundle::join_encryption, &key_bundle::command_signing,
        &key_bundle::journal_checkpoint})
    CHECK((a.*member).scalar() == (b.*member).scalar());
}

TEST_CASE("bundle: every key is another one, the pins are theirs") {
  const auto& b = one().bundle;
  std::vector<std::string> pins{
      b.node_ca.key.pub().pin(),       b.serving_ca.key.pub().pin(),
      b.internal_ca.key.pub().pin(),   b.join_signing.key.pub().pin(),
      b.join_encryption.pub().pin(),   b.command_signing.pub().pin(),
      b.journal_checkpoint.pub().pin()};
  auto given = pins_of(b);
  CHECK(given.serving_ca == pins[1]);
  CHECK(given.join_signing == pins[3]);
  CHECK(given.join_encryption == pins[4]);
  std::sort(pins.begin(), pins.end());
  CHECK(std::adjacent_find(pins.begin(), pins.end()) == pins.end());
  CHECK(is_pin(given.serving_ca));
}

TEST_CASE("bundle: the sealed text names its parameters and shows no key") {
  auto document = json::parse_object(one().sealed);
  REQUIRE(document.has_value());
  json::reader in{document.value()};
  CHECK(in.text("kdf").value() == "scrypt");
  CHECK(in.integer("n").value() == 32768);
  CHECK(in.integer("r").value() == 8);
  CHECK(in.integer("p").value() == 1);
  CHECK(in.text("cipher").value() == "AES-256-GCM");
  CHECK(one().sealed.find("PRIVATE") == std::string::npos);
  CHECK(one().sealed.find("compute.example.com") == std::string::npos);
  CHECK(seal_bundle(one().bundle, secret).value() != one().sealed);
}

TEST_CASE("bundle: a wrong secret is told from a damaged bundle") {
  CHECK(refusal(one().sealed, "sixteen bytes or mors") == wrong_secret);
  CHECK(refusal(one().sealed, "fifteen bytes..") ==
        "BETTER_COMPUTE_SECRET must be at least 16 bytes");
  auto short_secret =
      seal_bundle(one().bundle, secret_bytes{std::string_view{"short"}});
  REQUIRE_FALSE(short_secret);
  CHECK(short_secret.error().code == errc::invalid_config);

  auto is_damaged = [](const std::string& message) {
    return message.find("the key bundle is damaged: ") == 0;
  };
  CHECK(is_damaged(refusal("")));
  CHECK(is_damaged(refusal("{}x")));
  CHECK(is_damaged(refusal(one().sealed.substr(0, 500))));
  CHECK(
      is_damaged(refusal(replaced(one().sealed, "\"tag\":\"", "\"tag\":\"A"))));
  CHECK(is_damaged(
      refusal(replaced(one().sealed, "\"ciphertext\"", "\"other\""))));
}

TEST_CASE("bundle: other parameters are an unknown form, and cost nothing") {
  constexpr auto unknown =
      "the key bundle has a form this version does not know";
  CHECK(refusal("{}") == unknown);
  CHECK(refusal(replaced(one().sealed, "-v1", "-v2")) == unknown);
  CHECK(refusal(replaced(one().sealed, "32768", "1073741824")) == unknown);
  CHECK(refusal(replaced(one().sealed, "32768", "2")) == unknown);
  CHECK(refusal(replaced(one().sealed, "\"scrypt\"", "\"none\"")) == unknown);
  CHECK(refusal(replaced(one().sealed, "GCM", "ECB")) == unknown);
}
