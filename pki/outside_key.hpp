#pragma once

#include "base/result.hpp"
#include "pki/key.hpp"

#include <functional>
#include <memory>

struct evp_pkey_st;

namespace bc::pki {

/// Signs a SHA-256 digest with a key that is elsewhere, and says why when it
/// cannot. May block, and may be called on any thread.
using outside_signer =
    std::function<result<raw_signature>(const sha256_digest&)>;

struct free_evp_pkey {
  void operator()(evp_pkey_st* key) const noexcept;
};
using evp_pkey_handle = std::unique_ptr<evp_pkey_st, free_evp_pkey>;

/// OpenSSL's form of a key that signs elsewhere, for what takes no other: TLS
/// (SSL_CTX_use_PrivateKey). OpenSSL 3 takes such a key from a provider; ours
/// stands in a library context of its own, so that nothing else of the process
/// ever fetches from it. It does ECDSA with SHA-256, nothing else. A signer
/// that fails fails the handshake.
[[nodiscard]] evp_pkey_handle outside_key(const public_key& key,
                                          outside_signer signer);

/// The same form of a key that is here.
[[nodiscard]] evp_pkey_handle evp_key(const private_key& key);

}  // namespace bc::pki
