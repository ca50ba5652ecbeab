// ATTESTATION section 5 (hardware.placeholderUuids); CASES 28, 29, 38, 44: what
// joinTokens.create and joins.simulate make of identifiers that are none.
#include "actors/api/token_mint.hpp"
#include "events/streams.hpp"
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::api_test;

namespace {

const std::string shared_uuid = "30343536-3138-5a43-3231-313130325a47";

void share(api_world& w) {
  const std::vector<std::string> texts = {shared_uuid};
  auto env = *w.env;
  env.shared_uuids = pki::shared_uuids::parse(texts).value();
  w.env = std::make_shared<const actors::api_environment>(std::move(env));
}

reply create_expecting(api_world& w, const std::string& expect) {
  return w.call(w.acme_key, "joinTokens.create",
                with(w.token_input(), "expect", expect));
}

}  // namespace

TEST_CASE(
    "joinTokens.create: a placeholder binds to no machine "
    "(cases 28, 29, 38, 44)") {
  api_world w;
  for (const char* serial :
       {"0123456789", "N/A", "None", "..0000000.", "1234567890.",
        "SystemSerialNumber", "To-Be-Filled-By-O.E.M.", "SN-123456789",
        "123-1234-123", "ABABABAB", "7783-7084-3265-9085-8269-3286-77"}) {
    INFO(serial);
    auto got = create_expecting(w, "{\"serial\":" + json_string(serial) + "}");
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.path() == "/expect/serial");
  }
  for (const char* uuid : {"00000000-0000-0000-0000-000000000000",
                           "03000200-0400-0500-0006-000700080009",
                           "00112233445566778899AABBCCDDEEFF",
                           "11111111-2222-3333-4444-555555555555"}) {
    INFO(uuid);
    auto got =
        create_expecting(w, "{\"productUuid\":" + json_string(uuid) + "}");
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.path() == "/expect/productUuid");
  }
  CHECK(create_expecting(w, R"({"serial":"1234567890A"})").status == 200);
}

TEST_CASE("joinTokens.create: a UUID known to be shared binds to no machine") {
  api_world w;
  const auto expect = "{\"productUuid\":" + json_string(shared_uuid) + "}";
  auto first = create_expecting(w, expect);
  CHECK(first.status == 200);
  share(w);
  auto input = with(w.token_input("k-2"), "expect", expect);
  auto got = w.call(w.acme_key, "joinTokens.create", input);
  CHECK(got.code() == "INVALID_INPUT");
  CHECK(got.path() == "/expect/productUuid");
  // What was made before it was known is answered still.
  auto again = create_expecting(w, expect);
  CHECK(again.status == 200);
  CHECK(again.at("/id") == first.at("/id"));
  CHECK_FALSE(again.has("/token"));
  CHECK(create_expecting(w, R"({"productUuid":"00000000-0000-0000-0000-)"
                            R"(000000000000"})")
            .code() == "CONFLICT");
}

TEST_CASE("joinTokens.create: a retry of what a release before took") {
  api_world w;
  const std::string zero = "00000000-0000-0000-0000-000000000000";
  const auto expect =
      R"({"serial":"0123456789","productUuid":")" + zero + "\"}";
  events::join_token::created made;
  made.id =
      actors::api::token_id_for({{}, w.acme, "alice", {}}, "joinTokens", "k-1");
  made.tenant = w.acme;
  made.pool = w.pool;
  made.site = w.site;
  made.expect.serial = "0123456789";
  made.expect.product_uuid = zero;
  made.created_at = w.time.now();
  made.expires_at = w.time.now() + seconds{60};
  w.append({w.on(events::stream_of(made.id), w.acme,
                 {events::join_token::encode(made)})});

  auto got = create_expecting(w, expect);
  INFO(got.text);
  CHECK(got.status == 200);
  CHECK(got.at("/id") == made.id.str());
  CHECK(got.at("/expect/productUuid") == zero);
  auto input = with(w.token_input("k-2"), "expect", expect);
  CHECK(w.call(w.acme_key, "joinTokens.create", input).code() ==
        "INVALID_INPUT");
}

TEST_CASE("joins.simulate: a UUID known to be shared is no identifier") {
  api_world w;
  auto token = w.call(w.acme_key, "joinTokens.create", w.token_input());
  REQUIRE(token.status == 200);
  auto simulated = [&] {
    return w.call(w.acme_key, "joins.simulate",
                  {{"tenantId", json_string(w.acme.str())},
                   {"tokenId", json_string(token.at("/id"))},
                   {"claims", "{\"productUuid\":" + json_string(shared_uuid) +
                                  ",\"macs\":[\"3c:ec:ef:00:00:01\"]}"}});
  };
  CHECK(simulated().at("/outcome") == "joined");
  share(w);
  CHECK(simulated().at("/reason") == "join:placeholder-hardware");
}
