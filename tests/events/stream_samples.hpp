#pragma once

#include "base/encoding.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"
#include "events/pki_bundle.hpp"
#include "events/refusal.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <random>
#include <string>

/// Events with fixed or random content, for the tests of the streams and of
/// the read models.
namespace bc::testing {

/// Random content from one seed, so that a failure can be run again.
class sampler {
 public:
  explicit sampler(unsigned seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool coin() { return below(2) == 1; }

  template <class Id>
  Id id() {
    std::array<std::uint8_t, 10> tail{};
    for (auto& b : tail)
      b = static_cast<std::uint8_t>(random_());
    return Id::time_ordered(time(), tail);
  }

  template <class Id>
  Id hashed_id() {
    std::array<std::uint8_t, 32> digest{};
    for (auto& b : digest)
      b = static_cast<std::uint8_t>(random_());
    return Id::from_digest(digest);
  }

  bytes blob(std::size_t size) {
    bytes out(size);
    for (auto& b : out)
      b = static_cast<std::uint8_t>(random_());
    return out;
  }

  std::string hex(std::size_t size = 32) { return to_hex(blob(size)); }

  /// Letters, quotes, escapes, and characters of more than one byte.
  std::string text() {
    static const std::string parts[] = {"a",  "Z", "7",        " ",  "\"",
                                        "\\", "/", "\xc3\xa9", "\n", ":"};
    std::string out;
    for (auto n = 1 + below(12); n > 0; --n)
      out += parts[below(std::size(parts))];
    return out;
  }

  std::optional<std::string> maybe_text() {
    return coin() ? std::optional{text()} : std::nullopt;
  }

  /// Between 1970 and 2100, in milliseconds.
  time_point time() {
    return from_millis(static_cast<std::int64_t>(below(4'102'444'800'000)));
  }

  events::join_token::created token_created() {
    namespace jt = events::join_token;
    auto role = static_cast<jt::role>(below(4));
    return {
        hashed_id<join_token_id>(),
        id<tenant_id>(),
        role == jt::role::site ? std::nullopt : std::optional{id<pool_id>()},
        id<site_id>(),
        role,
        static_cast<std::int64_t>(1 + below(10'000)),
        {maybe_text(), maybe_text(), maybe_text(), maybe_text()},
        coin(),
        coin() ? std::optional<std::string>{"kubernetes"} : std::nullopt,
        time(),
        time(),
        hex(),
        coin() ? std::optional{id<node_id>()} : std::nullopt};
  }

  events::pool::policy pool_policy() {
    events::pool::policy p;
    for (auto n = below(3); n > 0; --n)
      p.join_attestors.push_back(text());
    p.platform_operated = coin();
    for (auto n = below(3); n > 0; --n)
      p.acceptance_checks.push_back(text());
    return p;
  }

  events::join_request::sighting sighting() {
    events::join_request::sighting out;
    out.csr_sha256 = hex();
    out.machine = {maybe_text(), {text(), text()}, {text()}, {}, text()};
    out.hardware_key = coin() ? hex() : "";
    out.trusted = !out.hardware_key.empty() && coin();
    if (coin())
      out.tpm = events::join_request::tpm_identity{
          hex(), static_cast<events::join_request::ek_certificate>(below(3)),
          maybe_text().value_or(""), maybe_text().value_or("")};
    else
      out.vouch = events::join_request::vouched{
          text(), text(), id<node_id>(), static_cast<std::int64_t>(below(99)),
          maybe_text()};
    return out;
  }

  events::join_request::opened request_opened() {
    events::join_request::opened o;
    o.id = id<join_request_id>();
    o.tenant = id<tenant_id>();
    o.site = id<site_id>();
    if (coin())
      o.pool = id<pool_id>();
    o.seen = sighting();
    o.attestor = o.seen.tpm ? "tpm" : "discovery";
    o.subject = "tpm:" + hex();
    if (coin())
      o.place = static_cast<std::int64_t>(below(1000));
    o.at = time();
    o.expires_at = time();
    return o;
  }

  /// One of what may follow.
  events::join_request::event after_opened(
      const events::join_request::opened& o) {
    namespace jr = events::join_request;
    switch (below(5)) {
      case 4: {
        const bool approved = coin();
        return jr::superseded{
            o.id,
            o.site,
            o.subject,
            hex(),
            approved,
            approved ? std::nullopt : o.place,
            coin() ? std::optional{id<node_id>()} : std::nullopt,
            time()};
      }
      case 0:
        return jr::refreshed{o.id,    o.site, o.subject, sighting(),
                             o.place, time(), time()};
      case 1:
        return jr::approved{
            o.id,       id<pool_id>(), o.site,
            o.attestor, o.subject,     hex(),
            o.place,    text(),        maybe_text().value_or(""),
            time(),     time()};
      case 2:
        return jr::rejected{
            o.id,       id<pool_id>(), o.site,
            o.attestor, o.subject,     hex(),
            o.place,    text(),        maybe_text().value_or(""),
            time()};
      default:
        return jr::consumed{o.id,      o.site, id<node_id>(),
                            o.subject, hex(),  time()};
    }
  }

  events::node::joined node_joined() {
    events::node::joined j;
    j.id = id<node_id>();
    j.tenant = id<tenant_id>();
    j.site = id<site_id>();
    j.pool = id<pool_id>();
    j.attestor = "join-token";
    j.reclaim = coin();
    j.hardware_key = coin() ? hex() : "";
    j.hardware_key_trusted = !j.hardware_key.empty() && coin();
    j.hardware_changed = coin();
    j.node_key = coin() ? "tpm" : "unattested";
    j.node_trust = static_cast<events::node::trust>(below(3));
    j.acceptance = coin();
    j.token = hashed_id<join_token_id>().str();
    j.cert.serial = hex(16);
    j.cert.spki_sha256 = hex();
    j.cert.role = static_cast<pki::certificate_role>(below(4));
    j.cert.generation = static_cast<std::int64_t>(1 + below(9));
    j.cert.not_before = time();
    j.cert.not_after = time();
    for (auto n = below(3); n > 0; --n)
      j.cert.statements.push_back("urn:bc:" + text());
    j.cert.der = blob(below(500));
    j.cert.csr_sha256 = hex();
    if (coin())
      j.cert.allowed_kinds = {"inspect.*", "ping"};
    j.at = time();
    j.claims = {text(), text(), "", text(), {text(), text()}, {}, text()};
    j.answer_subject = j.token;
    j.answer_body = "{\"nodeId\":\"" + j.id.str() + "\"}";
    j.answer_signature = blob(64);
    return j;
  }

  events::node::renewed node_renewed(const events::node::joined& j) {
    auto cert = j.cert;
    cert.serial = hex(16);
    cert.spki_sha256 = hex();
    cert.not_before = time();
    cert.not_after = time();
    cert.der = blob(1 + below(500));
    cert.csr_sha256 = hex();
    return {j.id,
            j.tenant,
            cert,
            j.cert.serial,
            time(),
            hex(),
            "{\"nodeId\":\"" + j.id.str() + "\"}",
            blob(64)};
  }

 private:
  std::mt19937_64 random_;
};

inline time_point at(std::string_view rfc3339) {
  return from_rfc3339(rfc3339).value();
}

/// The same identifier for the same number, always.
template <class Id>
Id fixed_id(std::uint8_t number) {
  std::array<std::uint8_t, 10> tail{};
  tail.back() = number;
  return Id::time_ordered(at("2026-11-29T12:00:00Z"), tail);
}

/// The event as it would stand in a journal.
inline events::envelope stored(const events::event_write& write,
                               events::stream_id stream,
                               std::string tenant = {},
                               std::uint64_t position = 1,
                               std::uint64_t version = 1) {
  events::envelope e;
  e.position = position;
  e.commit = position;
  e.stream = std::move(stream);
  e.version = version;
  e.type = write.type;
  e.type_version = write.type_version;
  e.tenant = std::move(tenant);
  e.time = at("2026-11-29T18:00:00.250Z");
  e.actor = "system";
  e.correlation = "req_01";
  e.data = write.data;
  e.internal = write.internal;
  e.batch = "bat_01";
  return e;
}

}  // namespace bc::testing
