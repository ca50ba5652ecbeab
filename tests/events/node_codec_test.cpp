// Every event of a node's life comes back as it was written, and those of a
// journal from before there was trust are read.
#include "events/catalog.hpp"
#include "events/event_names.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

template <class Event>
Event through(const Event& event) {
  auto write = node::encode(event);
  auto e = stored(write, "node:1");
  CHECK(find_event_type(write.type) != nullptr);
  CHECK(moves_of(e).value() == write.effect);
  auto back = node::decode(e);
  INFO(write.data << write.internal);
  REQUIRE(back);
  return std::get<Event>(back.value());
}

std::string without(std::string text, const std::string& field) {
  auto from = text.find(",\"" + field + "\":");
  REQUIRE(from != std::string::npos);
  auto to = text.find_first_of(",}", from + 1);
  return text.erase(from, to - from);
}

}  // namespace

// spec: ATTESTATION section 2.6: an EK is one node's until that is deleted.
TEST_CASE(
    "node codec: a join's EK and challenge are claims; hardware it left "
    "is none any more") {
  using kind = claim_move::kind;
  sampler random{23};
  auto j = random.node_joined();
  j.hardware_key = random.hex();
  j.hardware_key_trusted = true;
  j.ek_hash = random.hex();
  j.proof_sha256 = random.hex();
  j.left_hardware_key = random.hex();
  auto back = through(j);
  CHECK(back.ek_hash == j.ek_hash);
  CHECK(back.proof_sha256 == j.proof_sha256);
  CHECK(back.left_hardware_key == j.left_hardware_key);
  std::vector<std::pair<kind, std::string>> moved;
  for (const auto& m : node::moves_of(j).claims)
    if (!m.claim.starts_with("serial:") && !m.claim.starts_with("spki:") &&
        !m.claim.starts_with("answer:"))
      moved.emplace_back(m.what, m.claim);
  CHECK(moved == std::vector<std::pair<kind, std::string>>{
                     {kind::release, "hw:" + j.left_hardware_key},
                     {kind::take, "hw:" + j.hardware_key},
                     {kind::take, "ek:" + j.ek_hash},
                     {kind::take, "proof:" + j.proof_sha256}});
  // What the world sees of it.
  const auto seen = node::encode(j);
  CHECK(seen.data.find(j.ek_hash) != std::string::npos);
  CHECK(seen.data.find(j.left_hardware_key) == std::string::npos);

  node::retired r{j.id, "", random.time(), j.hardware_key, j.ek_hash};
  CHECK(through(r) == r);
  REQUIRE(node::moves_of(r).claims.size() == 2);
  CHECK(node::moves_of(r).claims[1].what == kind::release);
  CHECK(node::moves_of(r).claims[1].claim == "ek:" + j.ek_hash);
}

TEST_CASE("node codec: all events come back as they were") {
  sampler random{21};
  for (int i = 0; i < 200; ++i) {
    auto j = random.node_joined();
    if (random.coin())
      j.pool.reset();
    auto back = through(j);
    CHECK(back.pool == j.pool);
    CHECK(back.hardware_changed == j.hardware_changed);
    CHECK(back.acceptance == j.acceptance);
    CHECK(back.node_trust == j.node_trust);

    auto words = random.maybe_text().value_or("");
    node::cordoned c{j.id, words, random.time()};
    CHECK(through(c) == c);
    node::retired r{j.id, words, random.time(),
                    random.coin() ? random.hex() : ""};
    CHECK(through(r) == r);
    node::certificate_revoked v{
        j.id,
        j.tenant,
        random.hex(16),
        static_cast<std::int64_t>(1 + random.below(9)),
        static_cast<node::revocation>(random.below(3)),
        words,
        random.time(),
        random.coin() ? "answer:jt_1:" + random.hex() : ""};
    CHECK(through(v) == v);
    node::clone_suspected s{j.id, j.tenant, random.hex(), random.time()};
    CHECK(through(s) == s);
    node::hardware_shared h{
        j.id,
        j.tenant,
        {random.hex(), random.hex()},
        random.coin() ? std::optional{random.id<node_id>()} : std::nullopt,
        random.time()};
    CHECK(through(h) == h);
    CHECK(node::encode(h).effect.claims.size() == 2);
  }
}

TEST_CASE("node codec: a join of before there was trust promises nothing") {
  auto j = sampler{22}.node_joined();
  j.node_trust = node::trust::platform;
  j.acceptance = true;
  auto write = node::encode(j);
  for (const auto* field : {"trust", "acceptance", "hardwareChanged"})
    write.data = without(write.data, field);
  auto read = node::decode(stored(write, "node:1"));
  REQUIRE(read);
  const auto& old = std::get<node::joined>(read.value());
  CHECK(old.node_trust == node::trust::tenant_owned);
  CHECK_FALSE(old.acceptance);
  CHECK_FALSE(old.hardware_changed);
}

TEST_CASE("node codec: what ends gives its claims up") {
  using kind = claim_move::kind;
  const auto when = at("2026-11-29T12:00:00Z");
  const auto id = fixed_id<node_id>(1);
  auto released = [](const node::event& e) {
    std::vector<std::string> out;
    for (const auto& m : node::encode(e).effect.claims) {
      CHECK(m.what == kind::release);
      out.push_back(m.claim);
    }
    return out;
  };
  using texts = std::vector<std::string>;
  CHECK(released(node::retired{id, "", when, std::string(64, 'a')}) ==
        texts{"hw:" + std::string(64, 'a')});
  CHECK(released(node::retired{id, "", when, ""}).empty());
  node::certificate_revoked r{
      id, {}, "00", 1, node::revocation::reclaimed, "", when, "answer:jt_1:x"};
  CHECK(released(r) == texts{"answer:jt_1:x"});
  r.answer.clear();
  CHECK(released(r).empty());
  CHECK(released(node::cordoned{id, "", when}).empty());
  CHECK(released(node::clone_suspected{id, {}, "aa", when}).empty());
}

TEST_CASE("node codec: a renewal takes serial, key, answer and proof") {
  sampler random{23};
  const auto j = random.node_joined();
  auto r = random.node_renewed(j);
  r.at = at("2026-11-29T12:00:00Z");
  const auto key_until = r.cert.not_after + seconds{8 * 86'400};
  using kind = claim_move::kind;
  const std::vector<claim_move> expected = {
      {kind::take, "serial:" + r.cert.serial, key_until},
      {kind::take, "spki:" + r.cert.spki_sha256, key_until},
      {kind::take, "answer:" + r.id.str() + ":" + r.cert.csr_sha256,
       r.at + seconds{600}},
      {kind::take, "proof:" + r.proof_sha256, r.at + seconds{130}}};
  const auto write = node::encode(r);
  CHECK(write.effect.claims == expected);
  for (const auto& secret : {to_base64(r.cert.der), r.proof_sha256,
                             r.cert.csr_sha256, to_base64(r.answer_signature)})
    CHECK(write.data.find(secret) == std::string::npos);
}

TEST_CASE("node codec: what is internal stays out of the data") {
  const auto when = at("2026-11-29T12:00:00Z");
  const auto id = fixed_id<node_id>(1);
  const auto key = std::string(64, 'a');
  CHECK(node::encode(node::retired{id, "", when, key}).data.find(key) ==
        std::string::npos);
  node::certificate_revoked r{
      id, {}, "00", 1, node::revocation::deleted, "", when, "answer:jt_1:x"};
  CHECK(node::encode(r).data.find("answer") == std::string::npos);
}
