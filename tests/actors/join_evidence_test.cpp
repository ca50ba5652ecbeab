#include "pki/claims_digest.hpp"
#include "pki/der.hpp"
#include "pki/signature.hpp"
#include "tests/actors/join_world.hpp"

// What a machine presents: token text, seal and CSR, sealed raw to the
// service.
namespace bc::test {
namespace {

namespace der = pki::der;
using events::refusal_reason;

/// Counts what is read for a token.
class counting_ledger : public sync_ledger {
 public:
  using sync_ledger::sync_ledger;
  void token(const join_token_id& id,
             actors::reply_to<actors::shared_state<events::join_token::state>>
                 done) override {
    ++reads;
    sync_ledger::token(id, std::move(done));
  }
  int reads = 0;
};

TEST_CASE("join: the service strips and mends no token (cases 1 to 8)") {
  join_world w;
  auto counting = std::make_shared<counting_ledger>(*w.journal, w.time);
  w.ledger = counting;
  auto token = w.mint_token();
  auto m = make_machine(1);
  const auto good = token.text();
  const auto id = token.token.id.str();
  const auto& secret = token.secret;
  auto swapped = [](std::string text, std::size_t at, char c) {
    text[at] = c;
    return text;
  };
  auto raised = good;
  // A letter of the id in the other case; the digits have none.
  auto letter = std::find_if(raised.begin() + 8, raised.end(),
                             [](char c) { return c >= 'a' && c <= 'z'; });
  *letter = static_cast<char>(*letter - 'a' + 'A');

  const std::vector<std::string> malformed = {
      good + "\n",                             // case 1
      good + "\r\n",                           // case 2
      "\xef\xbb\xbf" + good,                   //
      swapped(good, good.size() - 5, '\xa0'),  //
      "\xe2\x80\x9c" + good + "\xe2\x80\x9d",  //
      "bcjt_" + id + " ." + secret,            //
      good + "\n" + good + "\n",               // case 3
      good + "   ",                            //
      id,                                      // case 4
      secret,                                  //
      "BCJT_" + id + "." + secret,             // case 5
      "bcjt_JT_" + id.substr(3) + "." + secret,
      raised,
      swapped(good, 20, 'i'),
      swapped(good, 20, 'l'),
      swapped(good, 20, 'o'),
      swapped(good, 20, 'u'),
      "bcjt_" + id + "." + secret.substr(1),  // case 6: lengths
      "bcjt_" + id + "." + secret + "A",
      good + "." + secret,  // case 8
      "bcjt_." + secret,
      "bcjt_" + id + ".",
      "bcjt_" + id,
      ".",
      "",
      "bcjt_" + id + "." + std::string(2000, 'A'),
      "bcjt_" + id + std::string(1, '\0') + "." + secret,
  };
  auto head = w.head();
  for (const auto& text : malformed) {
    CAPTURE(text);
    check_refused(w, w.join(m, text), head, refusal_reason::token_malformed,
                  w.root);
  }
  CHECK(counting->reads == 0);
  CHECK(w.uses_left(token) == 1);

  // Case 5: the secret's case is the secret.
  auto at = good.size() - 43;
  while (!std::isalpha(static_cast<unsigned char>(good[at])))
    ++at;
  auto flipped = swapped(good, at, static_cast<char>(good[at] ^ 0x20));
  check_refused(w, w.join(m, flipped), head,
                refusal_reason::token_secret_mismatch, w.root);
  CHECK(joined(w.join(m, good)));
}

TEST_CASE("join: every token that is minted is taken (case 6)") {
  join_world w;
  for (int i = 0; i < 20; ++i)
    CHECK(joined(w.join(make_machine(i), w.mint_token().text())));
}

std::string with_header(const std::string& seal, std::string_view from,
                        std::string_view to) {
  auto dot = seal.find('.');
  auto header = from_base64url(seal.substr(0, dot)).value();
  std::string text{as_text(header)};
  auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return to_base64url(as_bytes(text)) + seal.substr(dot);
}

TEST_CASE("join: a seal that is not exactly ours (cases 77 to 80)") {
  join_world w;
  auto token = w.mint_token();
  auto m = make_machine(1);
  const auto good = w.seal(token.text(), m);
  auto zeros = to_base64url(bytes(32));
  auto x_at = [&] {
    auto header = from_base64url(good.substr(0, good.find('.'))).value();
    std::string text{as_text(header)};
    return text.substr(text.find("\"x\":\"") + 5, 43);
  }();
  auto dots = [&](int n) {
    std::size_t at = std::string::npos;
    for (; n > 0; --n)
      at = good.find('.', at + 1);
    return at;
  };
  auto blank = good, short_tag = good.substr(0, good.size() - 6);
  blank.insert(dots(3), " ");
  const std::vector<std::string> bad = {
      with_header(good, x_at, zeros),                             // 77
      with_header(good, "P-256", "P-384"),                        //
      with_header(good, "\"EC\"", "\"OKP\""),                     //
      with_header(good, "\"y\":", "\"d\":"),                      //
      with_header(good, "{\"alg\"", "{\"zip\":\"DEF\",\"alg\""),  // 78
      with_header(good, "ECDH-ES+A256KW", "dir"),                 // 79
      with_header(good, "ECDH-ES+A256KW", "PBES2-HS256+A128KW"),
      with_header(good, "A256GCM", "A128GCM"),
      with_header(good, "bcjt+jwe", "JWT"),
      with_header(good, "bcjt+jwe", "BCJT+JWE"),
      with_header(good, "{\"alg\"", "{\"crit\":[\"x\"],\"alg\""),
      good.substr(0, dots(3)),
      "{\"protected\":\"\"}",
      good + "=",  // 80
      good + "\n",
      blank,
      good + ".AAAA",
      good.substr(0, dots(4)),
      good.substr(0, dots(1)) + "." + good.substr(dots(2)),
      short_tag,
      std::string(3000, 'A') + good.substr(0, 1000),
      "",
  };
  auto head = w.head();
  for (const auto& seal : bad) {
    CAPTURE(seal);
    auto r = w.request(m, token.text());
    r.sealed_token = seal;
    check_refused(w, w.join(r), head, refusal_reason::join_token, w.root);
  }
  CHECK(w.uses_left(token) == 1);
  auto r = w.request(m, token.text());
  r.sealed_token = good;
  CHECK(joined(w.join(r)));
}

TEST_CASE("join: a seal is for one CSR (case 82)") {
  join_world w;
  auto token = w.mint_token();
  auto a = make_machine(1), b = make_machine(2);
  auto head = w.head();
  auto stolen = w.request(b, token.text());
  stolen.sealed_token = w.seal(token.text(), a);
  check_refused(w, w.join(stolen), head, refusal_reason::join_token, w.root);

  // The same request in other bytes: with a long-form length, and with a
  // trailing byte.
  auto reencoded = w.request(a, token.text());
  REQUIRE(reencoded.csr[0] == 0x30);
  REQUIRE(reencoded.csr[1] == 0x81);
  reencoded.csr[1] = 0x82;
  reencoded.csr.insert(reencoded.csr.begin() + 2, 0);
  check_refused(w, w.join(reencoded), head, refusal_reason::join_csr, w.root);
  auto trailing = w.request(a, token.text());
  trailing.csr.push_back(0);
  check_refused(w, w.join(trailing), head, refusal_reason::join_csr, w.root);

  // Twice the same: one node, one answer.
  auto r = w.request(a, token.text());
  auto first = w.join(r);
  auto second = w.join(r);
  REQUIRE(joined(first));
  REQUIRE(joined(second));
  CHECK(first.answer.body == second.answer.body);
  CHECK(w.count("node.joined") == 1);
}

TEST_CASE("join: a seal's time may be a day off, no more (case 83)") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto at = [&](seconds offset) {
    auto r = w.request(m, token.text());
    r.sealed_token =
        pki::seal_token(w.keys->join_encryption.pub(), token.text(),
                        m.csr_sha256(), w.time.now() + offset);
    return w.join(r);
  };
  auto head = w.head();
  for (auto offset : {seconds{86'401}, seconds{-86'401}})
    check_refused(w, at(offset), head, refusal_reason::join_token, w.root);
  CHECK(joined(at(seconds{180})));
}

TEST_CASE("join: a seal that binds its claims admits no others") {
  join_world w;
  auto m = make_machine(1);
  m.claims.macs = {"9c:6b:00:11:22:33"};
  auto token = w.mint_token();
  const auto sent = [&] {
    auto r = w.request(m, token.text());
    r.sealed_token =
        pki::seal_token(w.keys->join_encryption.pub(), token.text(),
                        {m.csr_sha256(), pki::claims_digest(r)}, w.time.now());
    return r;
  }();
  // What a hostile gateway may change on the way.
  const std::vector<std::function<void(wire::join_request&)>> changes = {
      [](auto& r) { r.hardware.product_uuid[0] ^= 1; },
      [](auto& r) { r.hardware.product_serial += "1"; },
      [](auto& r) {
        std::swap(r.hardware.board_serial, r.hardware.product_serial);
      },
      [](auto& r) { r.hardware.macs.pop_back(); },
      [](auto& r) { r.hardware.gpu_uuids.push_back("GPU-00000001"); },
      [](auto& r) { r.hardware.hostname = "other"; },
      [](auto& r) { r.attestor = "join-token"; },
      [](auto& r) { r.node_id = "node_1"; },
      [](auto& r) { r.site_id += "x"; },
      [](auto& r) { r.role = "site"; }};
  auto head = w.head();
  for (const auto& change : changes) {
    auto r = sent;
    change(r);
    check_refused(w, w.join(r), head, refusal_reason::join_token, w.root);
  }
  CHECK(joined(w.join(sent)));
}

/// The parts of a request, to put it together otherwise.
struct csr_parts {
  bytes name, attributes, algorithm;

  explicit csr_parts(const bytes& csr) {
    der::reader whole{csr};
    der::reader outer{whole.take(der::sequence)->content};
    der::reader tbs{outer.take(der::sequence)->content};
    (void)tbs.take(der::integer);
    name = to_bytes(tbs.take(der::sequence)->whole);
    (void)tbs.take(der::sequence);
    attributes = to_bytes(tbs.take(der::context(0))->whole);
    algorithm = to_bytes(outer.take(der::sequence)->whole);
  }

  [[nodiscard]] bytes build(
      const pki::private_key& key, std::uint8_t version, const bytes& spki,
      const std::function<bytes(const pki::sha256_digest&)>& sign = {}) const {
    auto number = der::wrap(der::integer, {bytes{version}});
    auto tbs = der::wrap(der::sequence, {number, name, spki, attributes});
    auto digest = pki::sha256(tbs);
    auto signature = sign ? sign(digest) : key.sign_der(digest);
    return der::wrap(der::sequence,
                     {tbs, algorithm, der::write_bits(signature)});
  }
};

TEST_CASE("join: only a plain P-256 request counts (cases 85 to 87)") {
  join_world w;
  auto token = w.mint_token();
  auto m = make_machine(1);
  csr_parts parts{m.csr};
  auto spki = m.key.pub().spki();
  REQUIRE(pki::parse_csr(parts.build(m.key, 0, spki)).has_value());

  // id-ecPublicKey and prime256v1.
  const bytes algorithm = {0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                           0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
                           0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
  auto with_point = [&](const bytes& point) {
    return der::wrap(der::sequence, {algorithm, der::write_bits(point)});
  };
  const auto& point = m.key.pub().sec1();
  REQUIRE(with_point({point.begin(), point.end()}) == spki);
  bytes compressed{point.begin(), point.begin() + 33};
  compressed[0] = static_cast<std::uint8_t>(2 + (point[64] & 1));
  auto off_curve = bytes{point.begin(), point.end()};
  off_curve[64] ^= 1;
  auto other_curve = spki;
  other_curve[22] ^= 1;  // the last arc of prime256v1
  auto ed25519 = der::wrap(
      der::sequence,
      {der::wrap(der::sequence, {bytes{0x06, 0x03, 0x2b, 0x65, 0x70}}),
       der::write_bits(bytes(32, 7))});

  auto raw = [&](const pki::sha256_digest& d) {
    auto s = m.key.sign(d);
    return bytes{s.begin(), s.end()};
  };
  auto halves = [](const bytes& r, const bytes& s) {
    return [=](const pki::sha256_digest&) {
      return der::wrap(der::sequence, {der::wrap(der::integer, {r}),
                                       der::wrap(der::integer, {s})});
    };
  };
  auto padded = [&](const pki::sha256_digest& d) {
    auto s = m.key.sign(d);
    auto half = [](const std::uint8_t* from) {
      bytes out{0, 0};
      out.insert(out.end(), from, from + 32);
      return der::wrap(der::integer, {out});
    };
    return der::wrap(der::sequence, {half(s.data()), half(s.data() + 32)});
  };
  const bytes one(32, 0x11);
  const bytes huge = [] {
    bytes out(33, 0xff);
    out[0] = 0;
    return out;
  }();

  const std::vector<std::pair<std::string, bytes>> bad = {
      {"85 raw r and s", parts.build(m.key, 0, spki, raw)},
      {"85 excess zeros", parts.build(m.key, 0, spki, padded)},
      {"85 negative r", parts.build(m.key, 0, spki, halves({0x80}, one))},
      {"85 r zero", parts.build(m.key, 0, spki, halves({0}, one))},
      {"85 s zero", parts.build(m.key, 0, spki, halves(one, {0}))},
      {"85 r over n", parts.build(m.key, 0, spki, halves(huge, one))},
      {"86 version 1", parts.build(m.key, 1, spki)},
      {"86 version 2", parts.build(m.key, 2, spki)},
      {"87 compressed", parts.build(m.key, 0, with_point(compressed))},
      {"87 infinity", parts.build(m.key, 0, with_point({0}))},
      {"87 off the curve", parts.build(m.key, 0, with_point(off_curve))},
      {"87 other curve", parts.build(m.key, 0, other_curve)},
      {"87 Ed25519", parts.build(m.key, 0, ed25519)},
      {"another key's signature",
       parts.build(pki::private_key::generate(), 0, spki)},
  };
  auto head = w.head();
  for (const auto& [name, csr] : bad) {
    CAPTURE(name);
    machine forged{m.key.clone(), csr, m.claims};
    check_refused(w, w.join(forged, token.text()), head,
                  refusal_reason::join_csr, w.root);
  }
  CHECK(w.uses_left(token) == 1);
  CHECK(joined(w.join(m, token.text())));
}

TEST_CASE("join: a key that is already in use is refused (case 90)") {
  join_world w;
  auto a = make_machine(1);
  REQUIRE(joined(w.join(a, w.mint_token().text())));
  auto token = w.mint_token();
  auto head = w.head();

  SECTION("another node's") {
    machine b{a.key.clone(), pki::build_csr(a.key), make_machine(2).claims};
    check_refused(w, w.join(b, token.text()), head, refusal_reason::join_csr,
                  w.owner);
  }
  SECTION("the deployment's own") {
    const std::vector<const pki::private_key*> own = {
        &w.keys->node_ca.key,       &w.keys->serving_ca.key,
        &w.keys->internal_ca.key,   &w.keys->join_signing.key,
        &w.keys->join_encryption,   &w.keys->command_signing,
        &w.keys->journal_checkpoint};
    for (const auto* key : own) {
      machine b{key->clone(), pki::build_csr(*key), make_machine(2).claims};
      check_refused(w, w.join(b, token.text()), head, refusal_reason::join_csr,
                    w.owner);
    }
  }
  CHECK(w.uses_left(token) == 1);
  CHECK(joined(w.join(make_machine(2), token.text())));
}

}  // namespace
}  // namespace bc::test
