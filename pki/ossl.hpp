#pragma once

// Handles and error handling for OpenSSL; included by pki/*.cpp alone.

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace bc::pki::ossl {

template <auto release>
struct deleter {
  template <class T>
  void operator()(T* p) const noexcept {
    release(p);
  }
};

using pkey = std::unique_ptr<EVP_PKEY, deleter<EVP_PKEY_free>>;
using pkey_ctx = std::unique_ptr<EVP_PKEY_CTX, deleter<EVP_PKEY_CTX_free>>;
using cipher_ctx =
    std::unique_ptr<EVP_CIPHER_CTX, deleter<EVP_CIPHER_CTX_free>>;
using md_ctx = std::unique_ptr<EVP_MD_CTX, deleter<EVP_MD_CTX_free>>;
using bignum = std::unique_ptr<BIGNUM, deleter<BN_clear_free>>;
using ec_point = std::unique_ptr<EC_POINT, deleter<EC_POINT_clear_free>>;
using x509 = std::unique_ptr<X509, deleter<X509_free>>;

/// Empties this thread's error queue; answers the last reason in it.
inline std::string drain_errors() {
  unsigned long code = ERR_peek_last_error();
  const char* why = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return why == nullptr ? "no reason given" : why;
}

/// For a failure that no input can cause (memory, a library without its
/// algorithms): going on would mean weak keys or unsigned answers.
[[noreturn]] inline void die(const char* what) {
  std::fprintf(stderr, "better-compute: INTERNAL: %s: %s\n", what,
               drain_errors().c_str());
  std::abort();
}

inline void must(bool done, const char* what) {
  if (!done)
    die(what);
}

}  // namespace bc::pki::ossl
