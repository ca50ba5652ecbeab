// spec: DESIGN section 7 (signatures)
#include "pki/digest.hpp"

#include "base/ids.hpp"
#include "pki/signature.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

constexpr purpose all[] = {
    purpose::join_response, purpose::renew_response,     purpose::renew_pop,
    purpose::rejoin_pop,    purpose::join_challenge,     purpose::server_time,
    purpose::command,       purpose::journal_checkpoint, purpose::release};

sha256_digest hash_of(std::initializer_list<std::string_view> fields) {
  field_hash hash;
  for (auto field : fields)
    hash.add(field);
  return std::move(hash).finish();
}

}  // namespace

TEST_CASE("digest: SHA-256 of \"abc\" is that of FIPS 180-4") {
  CHECK(to_hex(sha256(as_bytes("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256({})) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("digest: fields are hashed with their lengths before them") {
  auto fields = hash_of({"ab", ""});
  bytes plain{0, 0, 0, 0, 0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 0, 0, 0, 0};
  CHECK(fields == sha256(plain));
  CHECK(fields != hash_of({"a", "b"}));
  CHECK(fields != hash_of({"ab"}));
}

TEST_CASE("digest: random bytes come in any size and differ") {
  CHECK(random_bytes(0).empty());
  CHECK(random_bytes(1000).size() == 1000);
  CHECK(random_bytes(32) != random_bytes(32));
  CHECK_FALSE(random_secret(32) == random_secret(32));
  CHECK(node_id::parse(mint<node_id>(noon).str()));
  CHECK(mint<node_id>(noon) != mint<node_id>(noon));
}

TEST_CASE("signature: the input is the hash of version, purpose and fields") {
  auto expected = hash_of({"bc-sig-v1", "renew-pop", "x", "y"});
  CHECK(signing_input(purpose::renew_pop, {as_bytes("x"), as_bytes("y")}) ==
        expected);
}

TEST_CASE("signature: a purpose's signature is worthless for another") {
  auto key = private_key::generate();
  std::set<std::string_view> names;
  for (auto made_for : all) {
    names.insert(purpose_text(made_for));
    auto signature = sign(key, made_for, {as_bytes("body")});
    for (auto used_for : all)
      CHECK(verify(key.pub(), used_for, {as_bytes("body")}, signature) ==
            (made_for == used_for));
  }
  CHECK(names.size() == std::size(all));
}

TEST_CASE("signature: fields cannot be moved into each other") {
  auto key = private_key::generate();
  auto signature = sign(key, purpose::command, {as_bytes("ab"), as_bytes("c")});
  CHECK(verify(key.pub(), purpose::command, {as_bytes("ab"), as_bytes("c")},
               signature));
  CHECK_FALSE(verify(key.pub(), purpose::command,
                     {as_bytes("a"), as_bytes("bc")}, signature));
  CHECK_FALSE(
      verify(key.pub(), purpose::command, {as_bytes("abc")}, signature));
  byte_view shorter{signature};
  CHECK_FALSE(verify(key.pub(), purpose::command,
                     {as_bytes("ab"), as_bytes("c")}, shorter.first(63)));
  CHECK_FALSE(
      verify(key.pub(), purpose::command, {as_bytes("ab"), as_bytes("c")}, {}));
}
