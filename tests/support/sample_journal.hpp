#pragma once

#include "events/catalog.hpp"
#include "events/checkpoint.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/journal_stream.hpp"
#include "events/node.hpp"
#include "events/refusal.hpp"
#include "events/stream_fold.hpp"
#include "events/streams.hpp"
#include "tests/support/journal_suite.hpp"

#include <array>

/// A small journal of real events, for the tests of what checks and shows one.
namespace bc::events::testing {

template <class Id>
Id numbered_id(std::uint8_t n) {
  std::array<std::uint8_t, 10> tail{};
  tail.back() = n;
  return Id::time_ordered(start, tail);
}

inline const auto sample_tenant = numbered_id<tenant_id>(1);
inline const auto sample_site = numbered_id<site_id>(2);
inline const auto sample_pool = numbered_id<pool_id>(3);
inline const auto sample_token = numbered_id<join_token_id>(4);
inline node_id sample_node(std::uint8_t n) {
  return numbered_id<node_id>(static_cast<std::uint8_t>(100 + n));
}

/// Words that are internal and must not be in what leaves.
inline const std::string sample_secret_hash(64, 'e');
inline const std::string sample_serial_number = "SN-7701-INTERNAL";

inline stream_write by_tenant(stream_id stream, event_write e) {
  return {std::move(stream), sample_tenant.str(), std::nullopt, {std::move(e)}};
}

inline batch sample_join(std::uint8_t n, time_point now) {
  node::joined j;
  j.id = sample_node(n);
  j.tenant = sample_tenant;
  j.site = sample_site;
  j.pool = sample_pool;
  j.attestor = "join-token";
  j.hardware_key = std::string(63, 'a') + std::to_string(n);
  j.hardware_key_trusted = true;
  j.token = sample_token.str();
  j.cert.serial = std::string(31, '0') + std::to_string(n);
  j.cert.spki_sha256 = std::string(63, 'b') + std::to_string(n);
  j.cert.not_before = now - seconds{300};
  j.cert.not_after = now + seconds{86'100};
  j.cert.der = {1, 2, 3, n};
  j.cert.csr_sha256 = std::string(63, 'c') + std::to_string(n);
  j.at = now;
  j.claims.product_serial = sample_serial_number;
  j.answer_subject = j.token;
  j.answer_body = "{\"n\":" + std::to_string(n) + "}";
  j.answer_signature = bytes(64);
  return make_batch({by_tenant(stream_of(sample_token),
                               join_token::encode(join_token::redeemed{
                                   sample_token, j.id, j.cert.csr_sha256})),
                     by_tenant(stream_of(j.id), node::encode(j))});
}

inline batch sample_adoption(std::uint8_t n, time_point now) {
  return make_batch(
      {by_tenant(stream_of(sample_node(n)),
                 node::encode(node::adopted{sample_node(n), now}))});
}

/// Thirteen rows in eight commits: tenant, site, pool (1 to 3), the token (4),
/// three joins (5 to 10, the last two in one commit), an adoption (11), a
/// refusal (12), the token revoked (13).
template <class Clock>
void fill_sample(journal& j, Clock& time) {
  auto now = [&] { return j.now(); };
  auto next = [&](const batch& b) {
    time.advance(1s);
    won(append(j, b));
  };
  next(make_batch(
      {by_tenant(
           stream_of(sample_tenant),
           tenant::encode(tenant::created{sample_tenant, "root", true, now()})),
       by_tenant(stream_of(sample_site),
                 site::encode(site::created{sample_site, sample_tenant, "ams-1",
                                            site::kind::dedicated, now()}))}));
  next(
      make_batch({by_tenant(stream_of(sample_pool),
                            pool::encode(pool::created{
                                sample_pool, sample_tenant, sample_site,
                                "g\xc3\xa9n\"pu", pool::agent::bcd, now()}))}));
  next(make_batch({by_tenant(
      stream_of(sample_token),
      join_token::encode(join_token::created{
          sample_token,
          sample_tenant,
          sample_pool,
          sample_site,
          join_token::role::node,
          16,
          {std::nullopt, sample_serial_number, std::nullopt, std::nullopt},
          false,
          std::nullopt,
          now(),
          now() + seconds{3600},
          sample_secret_hash}))}));
  next(sample_join(1, now()));
  time.advance(1s);
  for (const auto& outcome :
       append(j, {sample_join(2, now()), sample_join(3, now())}))
    won(outcome);
  next(sample_adoption(1, now()));
  next(make_batch({by_tenant(
      refusal_stream(sample_tenant, "join-token", "join-token:expired"),
      refusal::encode(refusal::refused{"join-token", "join-token:expired",
                                       "node", std::string(64, 'd'), "",
                                       0}))}));
  next(make_batch({by_tenant(stream_of(sample_token),
                             join_token::encode(join_token::revoked{
                                 sample_token, sample_pool, now()}))}));
}

/// The snapshot that the stream's events give now.
inline snapshot snapshot_now(journal& j, const stream_id& stream) {
  auto rows = j.read_stream(stream, 0, 1000);
  REQUIRE(rows);
  auto found = snapshot_of(stream, rows.value());
  REQUIRE(found);
  REQUIRE(found.value());
  return *found.value();
}

inline const pki::private_key& sample_journal_key() {
  static const auto key = pki::private_key::generate();
  return key;
}

/// The head, signed and put into the store.
inline checkpoint add_sample_checkpoint(journal& j) {
  auto lease = j.acquire_lease("test", 30s);
  REQUIRE(lease);
  REQUIRE(lease.value());
  auto c = sign_checkpoint(j.head().value(), j.now(), sample_journal_key());
  REQUIRE(j.add_checkpoint(c, lease.value()->epoch));
  return c;
}

/// Everything that `journal verify` compares.
inline verify_request whole_request(std::vector<checkpoint> outside = {}) {
  return {moves_of, make_stream_fold,
          [](const checkpoint& c) {
            return is_signed_by(c, sample_journal_key().pub());
          },
          std::move(outside)};
}

inline void check_whole(journal& j, std::vector<checkpoint> outside = {}) {
  auto done = j.verify(whole_request(std::move(outside)));
  if (!done)
    FAIL(done.error().message << " " << done.error().detail);
}

/// What verify says of a journal that is not whole.
inline std::string broken(journal& j, std::vector<checkpoint> outside = {}) {
  auto done = j.verify(whole_request(std::move(outside)));
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::internal);
  return done.error().message;
}

}  // namespace bc::events::testing
