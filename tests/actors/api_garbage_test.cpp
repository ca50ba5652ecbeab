#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

TEST_CASE("api inputs: garbage bodies change nothing (cases 138, 140, 142)") {
  api_world w;
  auto good = body_of(w.token_input());
  auto inside = [&](const std::string& extra) {
    return good.substr(0, good.size() - 1) + "," + extra + "}";
  };
  auto nested = [](int depth, const std::string& open,
                   const std::string& close) {
    std::string out;
    for (int i = 0; i < depth; ++i)
      out += open;
    for (int i = 0; i < depth; ++i)
      out += close;
    return out;
  };
  std::vector<std::string> bodies{
      "",
      " ",
      "null",
      "[]",
      "\"text\"",
      "7",
      "{",
      "{}",
      good + "x",
      good + good,
      good.substr(0, good.size() - 1),
      "\xef\xbb\xbf" + good,
      std::string(1, '\0') + good,
      inside(R"("maxUses":1,"maxUses":10000)"),
      inside(R"("maxUses":1,"\u006daxUses":10000)"),
      inside(R"("allowReclaim":false,"allowReclaim":true)"),
      inside("\"tenantId\":" + json_string(w.acme.str())),
      inside(R"("expect":{"serial":"A1B2C3","serial":"A1B2C4"})"),
      inside(R"("note":"\u0000")"),
      body_of(with(w.token_input(), "idempotencyKey", R"("a\u0000b")")),
      body_of(with(w.token_input(), "expect", R"({"serial":"SN\u00007701"})")),
      body_of(with(w.token_input(), "idempotencyKey", "\"\xff\xfe\"")),
      body_of(with(w.token_input(), "idempotencyKey", "\"\xc0\xaf\"")),
      body_of(with(w.token_input(), "idempotencyKey", "\"\\ud800\"")),
      body_of(with(w.token_input(), "idempotencyKey", "\"\\udc00\"")),
      body_of(with(w.token_input(), "maxUses", "1e400")),
      body_of(with(w.token_input(), "maxUses", "01")),
      body_of(with(w.token_input(), "maxUses", "NaN")),
      body_of(with(w.token_input(), "expect", nested(33, "[", "]"))),
      body_of(with(w.token_input(), "expect", nested(32, "{\"a\":", "}"))),
      nested(33, "[", "]"),
      std::string(100'000, '['),
      nested(20'000, "{\"a\":", "}"),
  };
  auto before = w.position();
  for (const auto& body : bodies) {
    INFO(body.substr(0, 120));
    auto got = w.raw("Bearer " + w.acme_key, "joinTokens.create", body);
    INFO(got.text.substr(0, 400));
    CHECK(got.status == 400);
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.at("/error/requestId") == "req-1");
    CHECK(got.text.size() < 2'000);
  }
  CHECK(w.position() == before);
}

TEST_CASE("api inputs: a key given twice is named (case 141)") {
  api_world w;
  auto got = w.raw("Bearer " + w.acme_key, "joinTokens.create",
                   R"({"maxUses":1,"maxUses":10000})");
  CHECK(got.at("/error/message").find("maxUses") != std::string::npos);
}

TEST_CASE("api inputs: 256 KiB are read, one byte more is 413") {
  api_world w;
  auto good = body_of(w.token_input());
  good += std::string(256 * 1024 - good.size(), ' ');
  CHECK(w.raw("Bearer " + w.acme_key, "joinTokens.create", good).status == 200);
  auto over = w.raw("Bearer " + w.acme_key, "joinTokens.create", good + " ");
  CHECK(over.status == 413);
  CHECK(over.code() == "INVALID_INPUT");
}

TEST_CASE("api inputs: an unknown field of 200 KB makes a short answer") {
  api_world w;
  auto got = w.call(w.acme_key, "joinTokens.create",
                    with(w.token_input(), std::string(200'000, 'x'), "1"));
  CHECK(got.code() == "INVALID_INPUT");
  CHECK(got.text.size() < 2'000);
}
