#include "pki/tpm/x509_handles.hpp"

#include <openssl/x509_vfy.h>

#include <memory>

namespace bc::pki::tpm {

namespace {

using store = std::unique_ptr<X509_STORE, ossl::deleter<X509_STORE_free>>;
using store_ctx =
    std::unique_ptr<X509_STORE_CTX, ossl::deleter<X509_STORE_CTX_free>>;

void release_all(STACK_OF(X509) * all) {
  sk_X509_pop_free(all, X509_free);
}
using certificates =
    std::unique_ptr<STACK_OF(X509), ossl::deleter<release_all>>;

constexpr int most_issuers = 5;

void add_all(STACK_OF(X509) * to, const std::vector<bytes>& ders) {
  for (const auto& der : ders) {
    auto one = read_x509(der);
    if (one == nullptr)
      continue;
    ossl::must(sk_X509_push(to, one.get()) > 0, "out of memory");
    (void)one.release();
  }
}

// NID_undef when the signature's algorithm names none.
int signature_hash(X509* certificate) {
  int md = NID_undef;
  if (X509_get_signature_info(certificate, &md, nullptr, nullptr, nullptr) != 1)
    ossl::drain_errors();
  return md;
}

bool is_strong(int hash) {
  return hash == NID_sha256 || hash == NID_sha384 || hash == NID_sha512 ||
         hash == NID_sha3_256 || hash == NID_sha3_384 || hash == NID_sha3_512;
}

// What X509_verify_cert leaves open: SHA-1 counts only under a root itself.
bool is_good_chain(STACK_OF(X509) * chain) {
  int count = sk_X509_num(chain);
  for (int i = 0; i + 1 < count; ++i) {
    bool under_root = i + 2 == count;
    auto by = signature_hash(sk_X509_value(chain, i));
    if (!is_strong(by) && !(under_root && by == NID_sha1))
      return false;
  }
  return true;
}

}  // namespace

ossl::x509 read_x509(byte_view der) {
  const auto* at = der.data();
  ossl::x509 out{d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
  ossl::drain_errors();
  return at == der.data() + der.size() ? std::move(out) : nullptr;
}

std::optional<code> check_ek_chain(X509* leaf, const std::vector<bytes>& roots,
                                   const std::vector<bytes>& intermediates,
                                   const std::vector<bytes>& sent,
                                   time_point now) {
  store trusted{X509_STORE_new()};
  certificates others{sk_X509_new_null()};
  store_ctx ctx{X509_STORE_CTX_new()};
  ossl::must(trusted != nullptr && others != nullptr && ctx != nullptr,
             "out of memory");
  for (const auto& der : roots)
    if (auto root = read_x509(der))
      ossl::must(X509_STORE_add_cert(trusted.get(), root.get()) == 1,
                 "out of memory");
  add_all(others.get(), intermediates);
  add_all(others.get(), sent);
  ossl::must(
      X509_STORE_CTX_init(ctx.get(), trusted.get(), leaf, others.get()) == 1,
      "out of memory");
  auto* param = X509_STORE_CTX_get0_param(ctx.get());
  X509_VERIFY_PARAM_set_time(param, to_millis(now) / 1000);
  X509_VERIFY_PARAM_set_flags(
      param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  X509_VERIFY_PARAM_set_depth(param, most_issuers);
  // Security levels would judge by TLS's standards; ours stand above.
  X509_VERIFY_PARAM_set_auth_level(param, 0);
  bool good = X509_verify_cert(ctx.get()) == 1;
  int error = X509_STORE_CTX_get_error(ctx.get());
  ossl::drain_errors();
  if (!good)
    return error == X509_V_ERR_CERT_HAS_EXPIRED ||
                   error == X509_V_ERR_CERT_NOT_YET_VALID
               ? code::ek_cert_expired
               : code::ek_cert_chain;
  if (!is_good_chain(X509_STORE_CTX_get0_chain(ctx.get())))
    return code::ek_cert_chain;
  return std::nullopt;
}

}  // namespace bc::pki::tpm
