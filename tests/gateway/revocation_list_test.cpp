// spec: RFC 5280 section 5, RFC 9110 section 13.1.2; docs/nodes.md.
#include "gateway/revocation_list.hpp"

#include "gateway/response_text.hpp"
#include "gateway/routes.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

using namespace bc;
using namespace bc::gateway;

namespace {

/// An API that nothing here may call.
struct fake_api final : actors::api_port {
  int calls = 0;
  void call(actors::api_call,
            std::function<void(actors::api_reply)> done) override {
    ++calls;
    done({});
  }
};

const std::string issuer_id = "00112233445566778899aabbccddeeff00112233";

http_response ask(const http_handler& handler, const std::string& method,
                  const std::string& path,
                  const std::string& if_none_match = {}) {
  http_request request;
  request.method = method;
  request.path = path;
  if (!if_none_match.empty())
    request.headers["if-none-match"] = if_none_match;
  std::optional<http_response> out;
  handler(std::move(request), [&](http_response r) { out = std::move(r); });
  REQUIRE(out);
  return *out;
}

http_handler serving(fake_api& api) {
  api_extras extras;
  extras.revoked = [](std::string_view authority)
      -> result<std::shared_ptr<const revocation_list>> {
    if (!authority.empty() && authority != issuer_id)
      return fail(errc::not_found, "no such authority");
    return std::make_shared<const revocation_list>(
        revocation_list{std::string{"\x30\x00", 2}, "0011-7"});
  };
  return make_api_handler(api, {}, extras);
}

}  // namespace

TEST_CASE("revocation list: whose list a path is") {
  CHECK(parse_revocation_list("/pki/crl") == "");
  CHECK(parse_revocation_list("/pki/crl/" + issuer_id) == issuer_id);
  for (const auto& path :
       {std::string{"/pki"}, std::string{"/pki/crl/"},
        "/pki/crl/" + issuer_id + "0", "/pki/crl/" + issuer_id.substr(1),
        std::string{"/pki/crlx"}, "/pki/crl/" + issuer_id + "/",
        std::string{"/pki/crl/../../etc/passwd"},
        "/pki/crl/" + std::string(40, 'A'),
        "/pki/crl/" + std::string(40, '.')}) {
    CAPTURE(path);
    CHECK_FALSE(parse_revocation_list(path));
  }
}

TEST_CASE("revocation list: anyone may have it, and once is enough") {
  fake_api api;
  auto handler = serving(api);
  const std::string path = "/api/compute/pki/crl";
  for (const auto& at : {path, path + "/" + issuer_id}) {
    auto got = ask(handler, "GET", at);
    CHECK(got.status == 200);
    CHECK(got.content_type == "application/pkix-crl");
    CHECK(got.body == std::string{"\x30\x00", 2});
    CHECK(got.headers.at("etag") == "W/\"0011-7\"");
    CHECK(got.headers.at("cache-control") == "no-cache");
  }
  CHECK(ask(handler, "HEAD", path).status == 200);
  CHECK(ask(handler, "GET", path + "/" + std::string(40, '0')).status == 404);
  auto posted = ask(handler, "POST", path);
  CHECK(posted.status == 405);
  CHECK(posted.headers.at("allow") == "GET, HEAD");
  CHECK(api_methods(path) == "GET, HEAD");
  // It is no call of the API.
  CHECK(api.calls == 0);
  struct row {
    const char* condition;
    int status;
  };
  for (const auto& r :
       {row{"W/\"0011-7\"", 304}, row{"\"0011-7\"", 304}, row{"*", 304},
        row{"\"x\", W/\"0011-7\"", 304}, row{" \"x\" ,\t\"0011-7\" ", 304},
        row{"\"0011-8\"", 200}, row{"0011-7", 200}, row{"W/", 200},
        row{",,", 200}}) {
    CAPTURE(r.condition);
    auto got = ask(handler, "GET", path, r.condition);
    CHECK(got.status == r.status);
    CHECK(got.body.empty() == (r.status == 304));
    CHECK(got.headers.at("etag") == "W/\"0011-7\"");
  }
  // No length of what is not there (RFC 9110 section 8.6).
  auto text = response_text(ask(handler, "GET", path, "*"), false, false);
  CHECK(text.starts_with("HTTP/1.1 304 Not Modified\r\n"));
  CHECK(text.find("content-length") == std::string::npos);
}

TEST_CASE(
    "revocation list: none where there are no keys, 503 while none is made") {
  fake_api api;
  CHECK(ask(make_api_handler(api, {}), "GET", "/api/compute/pki/crl").status ==
        404);
  api_extras extras;
  extras.revoked =
      [](std::string_view) -> result<std::shared_ptr<const revocation_list>> {
    return fail(errc::unavailable, "there is no list yet; retry");
  };
  CHECK(ask(make_api_handler(api, {}, extras), "GET", "/api/compute/pki/crl")
            .status == 503);
}
