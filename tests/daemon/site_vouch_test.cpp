// spec: ATTESTATION section 4: who gets a site agent's word, and how it is
// asked for.
#include "daemon/site_vouch.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;

namespace {

const time_point now = from_millis(1'764'000'000'250);
constexpr const char* site = "site_01k5w000000000000000000000";
constexpr const char* mac = "3c:ec:ef:00:00:01";

vouch_request request() {
  return {pki::sha256(as_bytes("csr")), pki::sha256(as_bytes("claims")), mac};
}

vouch_facts facts() {
  return {site_id::parse(site).value(), "10.0.0.21", 7, mac, now};
}

// A desk whose world a test changes.
struct desk_world {
  std::optional<std::int64_t> epoch = 7;
  result<std::optional<std::string>> lent = std::optional<std::string>{mac};
  std::string asked_ip;
  int looked_up = 0;
  bool signs = true;
  milliseconds since_boot = seconds{100};
  std::vector<pki::vouch::claims> signed_claims;
  std::vector<std::string> said;
  vouch_desk desk{tools()};

  vouch_desk_tools tools() {
    return {site_id::parse(site).value(),
            [this] { return epoch; },
            [this](std::string_view ip) {
              asked_ip = ip;
              ++looked_up;
              return lent;
            },
            [] { return now; },
            [this] { return since_boot; },
            [this](const pki::vouch::claims& c) -> result<std::string> {
              if (!signs)
                return fail(errc::unavailable, "the TPM does not answer");
              signed_claims.push_back(c);
              return std::string{"a.b.c"};
            },
            [this](const std::string& line) { said.push_back(line); }};
  }

  vouch_answer ask(const std::string& body = encode(request()),
                   const std::string& method = "POST",
                   const std::string& path = "/v1/vouch") {
    address_limit::address from{};
    from[10] = from[11] = 0xff;
    from[15] = 21;
    return desk.answer({method, path, body, "10.0.0.21", from});
  }
  vouch_denial denied(const vouch_answer& answer) {
    REQUIRE(std::holds_alternative<vouch_refused>(answer));
    return std::get<vouch_refused>(answer).why;
  }
};

}  // namespace

TEST_CASE("vouch: what it says is what was seen") {
  auto decided = decide_vouch(request(), facts(), "AAAAAAAAAAAAAAAAAAAAAA");
  REQUIRE(std::holds_alternative<pki::vouch::claims>(decided));
  const auto& says = std::get<pki::vouch::claims>(decided);
  CHECK(says.site.str() == site);
  CHECK(says.mac == mac);
  CHECK(says.ip == "10.0.0.21");
  CHECK_FALSE(says.workflow);
  CHECK(says.boot_lease_epoch == 7);
  CHECK(says.csr_sha256 == request().csr_sha256);
  CHECK(says.claims_sha256 == request().claims_sha256);
  CHECK(says.issued_at == from_millis(1'764'000'000'000));
  CHECK(says.expires_at - says.issued_at == pki::vouch::max_lifetime);
  CHECK(says.jti == "AAAAAAAAAAAAAAAAAAAAAA");
  CHECK(pki::vouch::is_live(says, now));
}

TEST_CASE("vouch: what it is denied for, and which comes first") {
  using d = vouch_denial;
  // Each row is wrong in one thing less than the one before.
  auto f = facts();
  f.epoch.reset();
  f.lent_to.reset();
  auto r = request();
  r.mac = "3c:ec:ef:00:00:02";
  auto why = [&] {
    return std::get<vouch_refused>(decide_vouch(r, f, "x")).why;
  };
  CHECK(why() == d::boot_lease);
  f.epoch = 7;
  CHECK(why() == d::dhcp_lease);
  f.lent_to = mac;
  CHECK(why() == d::mac);
  r.mac = mac;
  CHECK(std::holds_alternative<pki::vouch::claims>(decide_vouch(r, f, "x")));
}

TEST_CASE("vouch desk: a good request, and a log line of it") {
  desk_world w;
  auto answer = w.ask();
  CHECK(std::get<std::string>(answer) == "a.b.c");
  CHECK(w.asked_ip == "10.0.0.21");
  CHECK(w.said == std::vector<std::string>{
                      "vouched for 3c:ec:ef:00:00:01 at 10.0.0.21, CSR " +
                      to_hex(request().csr_sha256).substr(0, 16)});
  // Each has an id of its own.
  (void)w.ask();
  REQUIRE(w.signed_claims.size() == 2);
  CHECK(w.signed_claims[0].jti != w.signed_claims[1].jti);
}

TEST_CASE("vouch desk: who does not hold the lease does not look further") {
  desk_world w;
  w.epoch.reset();
  w.lent = fail(errc::invalid_state, "no file");
  CHECK(w.denied(w.ask()) == vouch_denial::boot_lease);
  CHECK(w.looked_up == 0);
  CHECK(w.said.empty());
}

TEST_CASE("vouch desk: what is broken here is said once, and not abroad") {
  desk_world w;
  w.lent = fail(errc::invalid_state, "the file /secret/place: line 3");
  auto answer = w.ask();
  CHECK(w.denied(answer) == vouch_denial::leases);
  CHECK_THAT(encode(answer), !Catch::Contains("secret"));
  (void)w.ask();
  CHECK(w.said == std::vector<std::string>{
                      "cannot vouch: the file /secret/place: line 3"});
  w.lent = std::optional<std::string>{mac};
  w.signs = false;
  answer = w.ask();
  CHECK(w.denied(answer) == vouch_denial::signing);
  CHECK_THAT(encode(answer), !Catch::Contains("TPM"));
  w.signs = true;
  CHECK(std::holds_alternative<std::string>(w.ask()));
  w.signs = false;
  (void)w.ask();
  CHECK(w.said.back() == "cannot vouch: the TPM does not answer");
  CHECK(w.said.size() == 4);
}

TEST_CASE("vouch desk: another path, method or form") {
  desk_world w;
  auto body = encode(request());
  CHECK(w.denied(w.ask(body, "GET")) == vouch_denial::not_found);
  CHECK(w.denied(w.ask(body, "POST", "/")) == vouch_denial::not_found);
  CHECK(w.denied(w.ask(body, "POST", "/v1/vouch?x")) ==
        vouch_denial::not_found);
  CHECK(w.denied(w.ask("{}")) == vouch_denial::malformed);
  CHECK(w.looked_up == 0);
}

TEST_CASE("vouch desk: an address that asks too often waits") {
  desk_world w;
  for (int i = 0; i < address_limit::burst; ++i)
    CHECK(std::holds_alternative<std::string>(w.ask()));
  CHECK(w.denied(w.ask()) == vouch_denial::rate);
  CHECK(w.looked_up == address_limit::burst);
  w.since_boot += seconds{1};
  CHECK(std::holds_alternative<std::string>(w.ask()));
}

TEST_CASE("vouch request: there and back, and nothing else") {
  const auto good = encode(request());
  CHECK(decode_vouch_request(good).value() == request());
  const auto hex = to_hex(request().csr_sha256);
  auto with = [&](const std::string& what, const std::string& by) {
    auto out = good;
    auto at = out.find(what);
    REQUIRE(at != std::string::npos);
    return out.replace(at, what.size(), by);
  };
  auto upper = hex;
  for (char& c : upper)
    c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  REQUIRE(upper != hex);
  const std::string rows[] = {
      "",
      "[]",
      "{}",
      good + " x",
      with(hex, upper),
      with(hex, hex.substr(2)),
      with(hex, hex + "00"),
      with(mac, "3C:EC:EF:00:00:01"),
      with(mac, "3c-ec-ef-00-00-01"),
      with(mac, "3c:ec:ef:00:00:0"),
      with(mac, ""),
      with("\"mac\"", "\"mac2\""),
      with("\"mac\":", "\"ip\":\"10.0.0.1\",\"mac\":"),
      with("\"mac\":", "\"mac\":\"3c:ec:ef:00:00:01\",\"mac\":"),
      with("\"" + hex + "\"", "7"),
      good + std::string(max_vouch_request, ' '),
  };
  for (const auto& text : rows) {
    INFO(text);
    auto read = decode_vouch_request(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_input);
  }
}

TEST_CASE("vouch answer: each code has its status, there and back") {
  using d = vouch_denial;
  const std::pair<d, int> rows[] = {
      {d::malformed, 400}, {d::not_found, 404}, {d::dhcp_lease, 403},
      {d::mac, 403},       {d::rate, 429},      {d::boot_lease, 503},
      {d::leases, 503},    {d::signing, 503},   {d::busy, 503}};
  for (const auto& [why, status] : rows) {
    vouch_answer answer = vouch_refused{why, "because"};
    CHECK(status_of(answer) == status);
    auto read = decode_vouch_answer(status, encode(answer));
    REQUIRE(read);
    CHECK(read.value() == answer);
    // One code has one status.
    CHECK_FALSE(decode_vouch_answer(200, encode(answer)));
    CHECK_FALSE(decode_vouch_answer(500, encode(answer)));
  }
  CHECK(denial_text(d::boot_lease) == "boot-lease");
  vouch_answer vouch = std::string{"aGk.eW91.c2ln"};
  CHECK(status_of(vouch) == 200);
  CHECK(decode_vouch_answer(200, encode(vouch)).value() == vouch);
  for (const auto* text :
       {"", "{}", R"({"vouch":"a.b"})", R"({"vouch":"a.b.c.d"})",
        R"({"vouch":"a.b.\u001b[31m"})", R"({"vouch":"a.b.c","x":1})",
        R"({"vouch":7})"})
    CHECK_FALSE(decode_vouch_answer(200, text));
  CHECK_FALSE(decode_vouch_answer(
      200, encode(vouch_answer{std::string(5'000, 'a') + ".b.c"})));
  CHECK_FALSE(
      decode_vouch_answer(403, R"({"code":"boot-lease","message":""})"));
  CHECK_FALSE(decode_vouch_answer(403, R"({"code":"other","message":""})"));
}
