#pragma once

#include "tests/projections/history.hpp"

/// Tokens that are used many times, which a group takes off at once: the rows
/// must be as when the events come one by one.
namespace bc::testing {

/// A use of the token without a node, whether or not it fits.
inline void use_alone(history& f, const events::join_token::created& t) {
  auto use = events::join_token::encode(events::join_token::redeemed{
      t.id, f.random.id<node_id>(), std::string(64, 'a')});
  use.effect = {};
  f.append({f.on(stream_of(t.id), t.tenant, {use})});
}

/// One token of 50 with 40 uses, and one used up that expires between them.
inline void uses_and_an_expiry(history& f) {
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto hot = f.add_token(tenant, pool, site, 50);
  auto last = f.add_token(tenant, pool, site, 1, seconds{60});
  for (int i = 0; i < 20; ++i)
    f.join(hot);
  f.join(last);
  f.time.advance(seconds{120});
  for (int i = 0; i < 20; ++i)
    f.join(hot);
  f.revoke(hot);
}

/// One token of 2 with 4 uses, and one of 20 with 8 between them.
inline void overspent(history& f) {
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto bad = f.add_token(tenant, pool, site, 2);
  auto good = f.add_token(tenant, pool, site, 20);
  for (int i = 0; i < 4; ++i) {
    use_alone(f, bad);
    f.join(good);
    f.join(good);
  }
}

/// One token of 50 with 8 uses, and one of 2 that is used before it is made.
inline void used_before_made(history& f) {
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto good = f.add_token(tenant, pool, site, 50);
  auto late = good;
  late.id = f.random.id<join_token_id>();
  late.max_uses = 2;
  use_alone(f, late);
  auto made = events::join_token::encode(late);
  made.effect = {};
  f.append({f.on(stream_of(late.id), tenant, {made})});
  for (int i = 0; i < 8; ++i)
    f.join(good);
}

/// How many streams are parked, and one of them with its position.
constexpr std::string_view parked_there =
    "select count(*) || ' ' || coalesce(max(stream || ' ' || position), '')"
    " from parked_streams";

}  // namespace bc::testing
