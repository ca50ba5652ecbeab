#include "pki/signature.hpp"

#include <algorithm>

namespace bc::pki {

std::string_view purpose_text(purpose p) noexcept {
  switch (p) {
    case purpose::join_response:
      return "join-response";
    case purpose::renew_response:
      return "renew-response";
    case purpose::renew_pop:
      return "renew-pop";
    case purpose::rejoin_pop:
      return "rejoin-pop";
    case purpose::join_challenge:
      return "join-challenge";
    case purpose::server_time:
      return "server-time";
    case purpose::command:
      return "command";
    case purpose::journal_checkpoint:
      return "journal-checkpoint";
    case purpose::release:
      return "release";
  }
  return {};
}

sha256_digest signing_input(purpose p,
                            std::initializer_list<byte_view> fields) {
  field_hash hash;
  hash.add("bc-sig-v1").add(purpose_text(p));
  for (auto field : fields)
    hash.add(field);
  return std::move(hash).finish();
}

raw_signature sign(const private_key& key, purpose p,
                   std::initializer_list<byte_view> fields) {
  return key.sign(signing_input(p, fields));
}

bool verify(const public_key& key, purpose p,
            std::initializer_list<byte_view> fields, byte_view signature) {
  raw_signature raw;
  if (signature.size() != raw.size())
    return false;
  std::copy(signature.begin(), signature.end(), raw.begin());
  return key.verify(signing_input(p, fields), raw);
}

}  // namespace bc::pki
