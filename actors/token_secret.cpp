#include "actors/token_secret.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

namespace bc::actors {

secret_bytes give_secret(events::join_token::created& token, time_point now,
                         seconds lifetime) {
  auto raw = pki::random_secret(32);
  secret_bytes secret{to_base64url(raw.expose())};
  token.created_at = now;
  token.expires_at = now + lifetime;
  token.secret_sha256 = to_hex(events::join_token::secret_digest(secret));
  return secret;
}

std::string bearer_text(const join_token_id& id, const secret_bytes& secret) {
  std::string out{"bcjt_"};
  return out.append(id.str()).append(".").append(secret.expose_text());
}

}  // namespace bc::actors
