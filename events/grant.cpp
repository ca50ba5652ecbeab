#include "events/grant.hpp"

namespace bc::events {

grant grant_of(const join_token::created& token) {
  grant out;
  out.attestor = "join-token";
  out.tenant = token.tenant;
  out.site = token.site;
  out.pool = token.pool;
  out.role = join_token::admits(token.token_role, false);
  out.hosted = token.hosted.has_value();
  out.expect = token.expect;
  out.reclaims =
      token.allow_reclaim ? takes_back::any_known : takes_back::nothing;
  out.node = token.node;
  out.token = token.id;
  return out;
}

}  // namespace bc::events
