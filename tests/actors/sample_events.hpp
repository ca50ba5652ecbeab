#pragma once

#include "base/encoding.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <string>
#include <utility>

/// Events that are good enough for the actors, which look at none of it.
namespace bc::test {

inline const time_point sample_time = from_millis(1'790'000'000'000);

template <class Id>
Id some_id() {
  return pki::mint<Id>(sample_time);
}

inline events::batch batch_of(
    const events::stream_id& stream, events::event_write event,
    std::optional<std::uint64_t> expected = std::nullopt) {
  events::batch b;
  b.id = some_id<batch_id>();
  b.actor = "system";
  b.correlation = "req-7";
  b.writes.push_back(
      {stream, some_id<tenant_id>().str(), expected, {std::move(event)}});
  return b;
}

inline events::batch tenant_batch(const tenant_id& id) {
  return batch_of(events::stream_of(id),
                  events::tenant::encode(events::tenant::created{
                      id, "name-" + id.str(), false, sample_time}));
}

inline events::event_write token_created(const join_token_id& id,
                                         std::int64_t uses) {
  events::join_token::created c;
  c.id = id;
  c.tenant = some_id<tenant_id>();
  c.pool = some_id<pool_id>();
  c.site = some_id<site_id>();
  c.max_uses = uses;
  c.created_at = sample_time;
  c.expires_at = sample_time + seconds{3600};
  c.secret_sha256 = std::string(64, 'a');
  return events::join_token::encode(c);
}

inline events::event_write token_redeemed(const join_token_id& id) {
  return events::join_token::encode(events::join_token::redeemed{
      id, some_id<node_id>(), std::string(64, 'b')});
}

inline events::event_write node_joined(const node_id& id,
                                       bool acceptance = false) {
  events::node::joined j;
  j.acceptance = acceptance;
  j.id = id;
  j.tenant = some_id<tenant_id>();
  j.site = some_id<site_id>();
  j.pool = some_id<pool_id>();
  j.attestor = "join-token";
  j.token = some_id<join_token_id>().str();
  j.cert.serial = to_hex(pki::random_bytes(16));
  j.cert.spki_sha256 = to_hex(pki::random_bytes(32));
  j.cert.not_before = sample_time;
  j.cert.not_after = sample_time + seconds{3600};
  j.cert.der = pki::random_bytes(8);
  j.cert.csr_sha256 = to_hex(pki::random_bytes(32));
  j.at = sample_time;
  j.answer_subject = j.token;
  j.answer_body = "{}";
  j.answer_signature = pki::random_bytes(64);
  return events::node::encode(j);
}

}  // namespace bc::test
