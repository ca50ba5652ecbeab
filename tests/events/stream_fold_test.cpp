// Folds of every kind, and snapshots as exact stand-ins for a stream's first
// events (DESIGN 3).

#include "events/stream_fold.hpp"

#include "base/json.hpp"
#include "events/state_codec.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <variant>

using namespace bc;
using namespace bc::events;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

std::vector<envelope> stream_of_writes(const std::string& stream,
                                       const std::vector<event_write>& writes) {
  std::vector<envelope> out;
  for (std::size_t i = 0; i < writes.size(); ++i)
    out.push_back(stored(writes[i], stream, {}, i + 1, i + 1));
  return out;
}

node::event after_join(sampler& s, const node::joined& j) {
  static const std::string sessions[] = {"sess_1", "sess_2"};
  switch (s.below(12)) {
    case 11:
      return node::inventory_recorded{j.id,     s.hex(),  s.coin(), s.coin(),
                                      s.coin(), s.time(), ""};
    case 10:
      return s.node_renewed(j);
    case 6:
      return node::connected{j.id,     sessions[s.below(2)],
                             "gw_1",   s.text(),
                             s.text(), s.hex(16),
                             "",       s.time()};
    case 7:
      return node::disconnected{j.id, sessions[s.below(2)],
                                static_cast<node::session_end>(s.below(6)),
                                s.time()};
    case 8:
      return s.coin() ? node::event{node::acceptance_started{j.id, s.time()}}
                      : node::acceptance_failed{j.id, {s.text()}, s.time()};
    case 9:
      return node::certificate_expiring{
          j.id, j.cert.serial, 1, j.cert.not_after, s.coin(), s.time()};
    case 0:
      return node::cordoned{j.id, s.maybe_text().value_or(""), s.time()};
    case 1:
      return node::certificate_revoked{j.id,
                                       j.tenant,
                                       j.cert.serial,
                                       j.cert.generation,
                                       node::revocation::revoked,
                                       "",
                                       s.time(),
                                       ""};
    case 2:
      return node::clone_suspected{j.id, j.tenant, s.hex(), s.time()};
    case 3:
      return node::hardware_shared{
          j.id, j.tenant, {s.hex()}, std::nullopt, s.time()};
    case 4:
      if (s.below(5) == 0)
        return node::retired{j.id, "", s.time(), j.hardware_key};
      [[fallthrough]];
    default:
      return node::adopted{j.id, s.time()};
  }
}

std::vector<event_write> random_node(sampler& s, std::size_t n) {
  std::vector<event_write> out;
  auto joined = s.node_joined();
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || s.below(3) == 0) {
      auto again = s.node_joined();
      again.id = joined.id;
      joined = again;
      out.push_back(node::encode(again));
    } else {
      out.push_back(node::encode(after_join(s, joined)));
    }
  }
  return out;
}

std::vector<event_write> random_token(sampler& s, std::size_t n) {
  std::vector<event_write> out;
  auto token = s.token_created();
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0)
      out.push_back(join_token::encode(token));
    else if (s.below(20) == 0)
      out.push_back(join_token::encode(
          join_token::revoked{token.id, token.pool, s.time()}));
    else
      out.push_back(join_token::encode(
          join_token::redeemed{token.id, s.id<node_id>(), s.hex()}));
  }
  return out;
}

void fold_all(stream_fold& fold, const std::vector<envelope>& all,
              std::size_t from, std::size_t until) {
  for (auto i = from; i < until; ++i)
    REQUIRE(fold.apply(all[i]));
}

/// At any place of the stream: the snapshot and what comes after it are the
/// whole stream.
void stands_for_its_events(const std::string& stream,
                           const std::vector<envelope>& all, std::size_t cut) {
  auto whole = make_stream_fold(stream);
  fold_all(*whole, all, 0, cut);
  auto taken = whole->to_snapshot();
  REQUIRE(taken);
  CHECK(taken->version == cut);
  auto restored = make_stream_fold(stream);
  REQUIRE(restored->restore(*taken));
  CHECK(restored->version() == cut);
  CHECK(restored->state_json(true) == whole->state_json(true));
  fold_all(*whole, all, cut, all.size());
  fold_all(*restored, all, cut, all.size());
  CHECK(restored->to_snapshot()->state == whole->to_snapshot()->state);
  CHECK(restored->state_json(true) == whole->state_json(true));
  auto kept = snapshot_of(stream, {all.data(), cut});
  REQUIRE(kept);
  REQUIRE(kept.value());
  CHECK(kept.value()->state == taken->state);
}

node::state node_state(const stream_fold& fold) {
  return *std::get<std::shared_ptr<const node::state>>(fold.state());
}

}  // namespace

TEST_CASE("stream fold: a node's snapshot stands for its events") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    sampler s{seed};
    auto all = stream_of_writes("node:x", random_node(s, 1 + s.below(12)));
    stands_for_its_events("node:x", all, s.below(all.size() + 1));
  }
}

TEST_CASE("stream fold: a token's snapshot stands for its events") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    sampler s{seed};
    auto all =
        stream_of_writes("join_token:x", random_token(s, 1 + s.below(60)));
    stands_for_its_events("join_token:x", all, s.below(all.size() + 1));
  }
}

TEST_CASE("stream fold: a join request's snapshot stands for its events") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    sampler s{seed};
    auto o = s.request_opened();
    std::vector<event_write> writes{join_request::encode(o)};
    for (auto n = s.below(8); n > 0; --n)
      writes.push_back(join_request::encode(s.after_opened(o)));
    auto all = stream_of_writes("join_request:x", writes);
    stands_for_its_events("join_request:x", all, s.below(all.size() + 1));

    join_request::state full;
    full.version = 5;
    full.request = o;
    full.stored = static_cast<join_request::status>(s.below(5));
    full.claims_changed = s.coin();
    if (s.coin())
      full.refreshed_at = s.time();
    if (s.coin())
      full.decided = join_request::decision{s.text(), s.text(), s.time()};
    if (s.coin())
      full.consumed_at = s.time();
    if (s.coin())
      full.node = s.id<node_id>();
    auto read = join_request::decode_state(join_request::encode_state(full));
    REQUIRE(read);
    const auto& got = read.value();
    CHECK(got.version == full.version);
    CHECK(got.request == full.request);
    CHECK(got.stored == full.stored);
    CHECK(got.claims_changed == full.claims_changed);
    CHECK(got.refreshed_at == full.refreshed_at);
    CHECK(got.decided == full.decided);
    CHECK(got.consumed_at == full.consumed_at);
    CHECK(got.node == full.node);
  }
}

TEST_CASE("stream fold: a snapshot holds every field of a state") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    sampler s{seed};
    auto j = s.node_joined();
    node::state full;
    full.version = 7;
    full.node = j;
    full.current = static_cast<node::status>(s.below(4));
    full.generation = static_cast<std::int64_t>(s.below(9));
    for (auto n = s.below(4); n > 0; --n)
      full.certificates.push_back(
          {s.node_joined().cert,
           s.coin() ? std::optional{s.time()} : std::nullopt});
    for (auto n = s.below(3); n > 0; --n)
      full.reclaims.push_back(s.time());
    if (s.coin())
      full.clone_suspected_at = s.time();
    if (s.coin())
      full.retired_at = s.time();
    if (s.coin())
      full.cordon = node::cordoned{j.id, s.text(), s.time()};
    if (s.coin())
      full.session = node::connected{j.id,     s.text(),  s.text(), s.text(),
                                     s.text(), s.hex(16), s.text(), s.time()};
    if (s.coin())
      full.session_over = node::disconnected{
          j.id, s.text(), static_cast<node::session_end>(s.below(6)), s.time()};
    for (auto n = s.below(3); n > 0; --n)
      full.takeovers.push_back(s.time());
    if (s.coin())
      full.acceptance_started_at = s.time();
    if (s.coin())
      full.failed_acceptance =
          node::acceptance_failed{j.id, {s.text(), s.text()}, s.time()};
    if (s.coin())
      full.told_of_expiry = s.hex(16);
    auto read = node::decode_state(node::encode_state(full));
    REQUIRE(read);
    const auto& got = read.value();
    CHECK(got.version == full.version);
    CHECK(got.current == full.current);
    CHECK(got.generation == full.generation);
    CHECK(got.certificates == full.certificates);
    CHECK(got.reclaims == full.reclaims);
    CHECK(got.clone_suspected_at == full.clone_suspected_at);
    CHECK(got.retired_at == full.retired_at);
    CHECK(got.cordon == full.cordon);
    CHECK(got.session == full.session);
    CHECK(got.session_over == full.session_over);
    CHECK(got.takeovers == full.takeovers);
    CHECK(got.acceptance_started_at == full.acceptance_started_at);
    CHECK(got.failed_acceptance == full.failed_acceptance);
    CHECK(got.told_of_expiry == full.told_of_expiry);
    REQUIRE(got.node);
    CHECK(got.node->cert == j.cert);
    CHECK(got.node->claims.macs == j.claims.macs);
    CHECK(got.node->answer_body == j.answer_body);
    CHECK(got.node->answer_signature == j.answer_signature);
    CHECK(node::encode_state(got) == node::encode_state(full));

    join_token::state token;
    token.version = 3;
    token.token = s.token_created();
    token.uses_left = static_cast<std::int64_t>(s.below(100));
    if (s.coin())
      token.revoked_at = s.time();
    auto back = join_token::decode_state(join_token::encode_state(token));
    REQUIRE(back);
    CHECK(back.value().token == token.token);
    CHECK(back.value().uses_left == token.uses_left);
    CHECK(back.value().revoked_at == token.revoked_at);
  }
}

TEST_CASE("stream fold: a snapshot that is not its own is thrown away") {
  sampler s{3};
  auto all = stream_of_writes("node:x", random_node(s, 5));
  auto fold = make_stream_fold("node:x");
  fold_all(*fold, all, 0, 5);
  auto good = *fold->to_snapshot();
  auto fresh = make_stream_fold("node:x");
  auto refuses = [&](const std::function<void(snapshot&)>& spoil) {
    auto bad = good;
    spoil(bad);
    CHECK_FALSE(fresh->restore(bad));
    CHECK(fresh->version() == 0);
  };
  refuses([](snapshot& b) { ++b.fold_version; });
  refuses([](snapshot& b) { ++b.version; });
  refuses([](snapshot& b) { b.state.clear(); });
  refuses([](snapshot& b) { b.state = "{}"; });
  refuses([](snapshot& b) { b.state = "[1]"; });
  // Every shorter text.
  for (std::size_t n = 0; n < good.state.size(); n += 7)
    refuses([&](snapshot& b) { b.state.resize(n); });
  // Of another kind.
  CHECK_FALSE(make_stream_fold("join_token:x")->restore(good));
  CHECK_FALSE(make_stream_fold("tenant:x")->restore(good));
  CHECK(fresh->restore(good));
}

TEST_CASE("stream fold: holes and unknown events are refused, the state kept") {
  sampler s{4};
  auto all = stream_of_writes("node:x", random_node(s, 3));
  auto fold = make_stream_fold("node:x");
  CHECK(fold->apply(all[1]).error().code == errc::internal);
  fold_all(*fold, all, 0, 2);
  CHECK_FALSE(fold->apply(all[1]));
  auto unknown = all[2];
  unknown.type = "node.teleported";
  CHECK(fold->apply(unknown).error().code == errc::internal);
  CHECK(fold->version() == 2);
  CHECK(fold->apply(all[2]));
}

TEST_CASE("stream fold: what was given out does not change") {
  sampler s{5};
  auto all = stream_of_writes("node:x", random_node(s, 3));
  auto fold = make_stream_fold("node:x");
  fold_all(*fold, all, 0, 1);
  auto early = std::get<std::shared_ptr<const node::state>>(fold->state());
  fold_all(*fold, all, 1, 3);
  CHECK(early->version == 1);
  CHECK(node_state(*fold).version == 3);
}

TEST_CASE("stream fold: every kind folds and shows its state") {
  sampler s{6};
  const auto secret = s.hex();
  struct kind {
    std::string stream;
    event_write event;
    bool snapshots = false;
  };
  auto token = s.token_created();
  token.secret_sha256 = secret;
  auto id = s.id<tenant_id>();
  const std::vector<kind> kinds = {
      {"tenant:x", tenant::encode(tenant::created{id, "a", false, s.time()})},
      {"site:x", site::encode(site::created{s.id<site_id>(), id, "a",
                                            site::kind::shared, s.time()})},
      {"pool:x",
       pool::encode(pool::created{s.id<pool_id>(), id, s.id<site_id>(), "a",
                                  pool::agent::bcd, s.time()})},
      {"credential:x",
       credential::encode(credential::created{
           s.id<credential_id>(), id, "p", {{"*", "*"}}, s.time(), secret})},
      {"join_token:x", join_token::encode(token), true},
      {"join_request:x", join_request::encode(s.request_opened()), true},
      {"node:x", node::encode(s.node_joined()), true},
      {"boot_lease:x",
       boot_lease::encode(boot_lease::acquired{s.id<site_id>(), id,
                                               s.id<node_id>(), 7, std::nullopt,
                                               s.time(), s.time()}),
       true},
      {"refusal:x:y:z", refusal::encode(refusal::refused{
                            "join-token", "join:csr", "node", s.hex(), "", 3})},
      {"pki",
       pki_bundle::encode(pki_bundle::initialized{
           "example.test", "a", "b", "c", s.time(), "sealed " + secret})},
  };
  for (const auto& k : kinds) {
    CAPTURE(k.stream);
    auto fold = make_stream_fold(k.stream);
    REQUIRE(fold);
    CHECK(json::parse_object(fold->state_json(true)));
    REQUIRE(fold->apply(stored(k.event, k.stream)));
    auto open = fold->state_json(false);
    CHECK(json::parse_object(open));
    CHECK(open.find(secret) == std::string::npos);
    CHECK(open.find("answerBody") == std::string::npos);
    CHECK(open.find("\"certificate\"") == std::string::npos);
    CHECK(fold->to_snapshot().has_value() == k.snapshots);
    CHECK(has_snapshots(k.stream) == k.snapshots);
    auto all = std::vector{stored(k.event, k.stream)};
    auto kept = snapshot_of(k.stream, all);
    REQUIRE(kept);
    CHECK(kept.value().has_value() == k.snapshots);
  }
  CHECK(make_stream_fold("weather:today") == nullptr);
  CHECK_FALSE(snapshot_of("weather:today", {}).value().has_value());
}
