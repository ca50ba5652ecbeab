#include "pki/outside_key.hpp"

#include "pki/digest.hpp"
#include "pki/ecdsa.hpp"
#include "pki/ossl.hpp"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>
#include <openssl/provider.h>

#include <algorithm>
#include <cstring>

// The provider has two algorithms, an EC key and its ECDSA, and of each the
// functions that EVP and libssl were seen to call (OpenSSL 3.0): a key is made
// by fromdata, compared with the certificate's, asked for its group and sizes,
// and signs. The export of a private key fails, and so EVP does not move it to
// the default provider but signs here.
namespace bc::pki {

namespace {

constexpr const char* signer_param = "bc-signer";
constexpr const char* group = "prime256v1";
constexpr std::size_t longest_signature = 72;

// Other providers export a point compressed or not (OpenSSL 3.0 before 3.0.8:
// compressed); x and y's parity are the point either way. Empty: neither form.
bytes compressed(byte_view sec1) {
  constexpr std::size_t half = 32;
  if (sec1.size() == 1 + half && (sec1[0] == 0x02 || sec1[0] == 0x03))
    return {sec1.begin(), sec1.end()};
  if (sec1.size() != 1 + 2 * half || sec1[0] != 0x04)
    return {};
  bytes out{sec1.begin(), sec1.begin() + 1 + half};
  out[0] = static_cast<std::uint8_t>(0x02 | (sec1.back() & 1));
  return out;
}

struct key_data {
  bytes point;  // the public one, compressed
  std::shared_ptr<const outside_signer> signer;
};

key_data& data_of(void* key) {
  return *static_cast<key_data*>(key);
}

void* key_new(void*) noexcept {
  return new key_data;
}

void key_free(void* key) noexcept {
  delete static_cast<key_data*>(key);
}

int key_has(const void* key, int selection) noexcept {
  const auto& data = *static_cast<const key_data*>(key);
  if ((selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0 && !data.signer)
    return 0;
  return data.point.empty() ? 0 : 1;
}

int key_match(const void* one, const void* other, int) noexcept {
  const auto& first = static_cast<const key_data*>(one)->point;
  return !first.empty() && first == static_cast<const key_data*>(other)->point;
}

// A public key of another provider, to be compared; or ours, with its signer.
int key_import(void* key, int, const OSSL_PARAM params[]) noexcept {
  auto& data = data_of(key);
  const auto* name =
      OSSL_PARAM_locate_const(params, OSSL_PKEY_PARAM_GROUP_NAME);
  const auto* point = OSSL_PARAM_locate_const(params, OSSL_PKEY_PARAM_PUB_KEY);
  if (name == nullptr || point == nullptr ||
      name->data_type != OSSL_PARAM_UTF8_STRING ||
      point->data_type != OSSL_PARAM_OCTET_STRING ||
      std::strcmp(static_cast<const char*>(name->data), group) != 0)
    return 0;
  const auto* from = static_cast<const std::uint8_t*>(point->data);
  data.point = compressed({from, point->data_size});
  if (data.point.empty())
    return 0;
  const auto* signer = OSSL_PARAM_locate_const(params, signer_param);
  if (signer != nullptr && signer->data_size == sizeof(void*)) {
    const std::shared_ptr<const outside_signer>* given = nullptr;
    std::memcpy(&given, signer->data, sizeof given);
    data.signer = *given;
  }
  return 1;
}

const OSSL_PARAM* key_import_types(int) noexcept {
  static const OSSL_PARAM types[] = {
      OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, nullptr, 0),
      OSSL_PARAM_octet_string(OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0),
      OSSL_PARAM_octet_string(signer_param, nullptr, 0), OSSL_PARAM_END};
  return types;
}

const OSSL_PARAM* key_gettable(void*) noexcept {
  static const OSSL_PARAM types[] = {
      OSSL_PARAM_int(OSSL_PKEY_PARAM_BITS, nullptr),
      OSSL_PARAM_int(OSSL_PKEY_PARAM_SECURITY_BITS, nullptr),
      OSSL_PARAM_int(OSSL_PKEY_PARAM_MAX_SIZE, nullptr),
      OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, nullptr, 0),
      OSSL_PARAM_END};
  return types;
}

int key_get(void*, OSSL_PARAM params[]) noexcept {
  const struct {
    const char* name;
    int value;
  } numbers[] = {
      {OSSL_PKEY_PARAM_BITS, 256},
      {OSSL_PKEY_PARAM_SECURITY_BITS, 128},
      {OSSL_PKEY_PARAM_MAX_SIZE, static_cast<int>(longest_signature)}};
  for (const auto& [name, value] : numbers)
    if (auto* p = OSSL_PARAM_locate(params, name);
        p != nullptr && OSSL_PARAM_set_int(p, value) == 0)
      return 0;
  auto* p = OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_GROUP_NAME);
  return p == nullptr || OSSL_PARAM_set_utf8_string(p, group) != 0 ? 1 : 0;
}

const char* key_operation(int operation) noexcept {
  return operation == OSSL_OP_SIGNATURE ? "ECDSA" : nullptr;
}

// What is signed is collected: a TLS transcript's hash and its frame.
struct signing {
  key_data* key = nullptr;
  bytes message;
};

void* sign_new(void*, const char*) noexcept {
  return new signing;
}

void sign_free(void* context) noexcept {
  delete static_cast<signing*>(context);
}

void* sign_copy(void* context) noexcept {
  return new signing{*static_cast<const signing*>(context)};
}

int sign_begin(void* context, const char* digest, void* key,
               const OSSL_PARAM[]) noexcept {
  auto& s = *static_cast<signing*>(context);
  if (key != nullptr)
    s.key = &data_of(key);
  s.message.clear();
  if (s.key == nullptr || !s.key->signer)
    return 0;
  if (digest == nullptr)
    return 1;
  std::unique_ptr<EVP_MD, ossl::deleter<EVP_MD_free>> md{
      EVP_MD_fetch(nullptr, digest, nullptr)};
  return md && EVP_MD_is_a(md.get(), "SHA256") != 0 ? 1 : 0;
}

int sign_more(void* context, const unsigned char* data,
              std::size_t size) noexcept {
  auto& s = *static_cast<signing*>(context);
  s.message.insert(s.message.end(), data, data + size);
  return 1;
}

int sign_end(void* context, unsigned char* out, std::size_t* size,
             std::size_t room) noexcept {
  auto& s = *static_cast<signing*>(context);
  if (out == nullptr) {
    *size = longest_signature;
    return 1;
  }
  auto made = (*s.key->signer)(sha256(s.message));
  if (!made) {
    ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
    return 0;
  }
  const auto der = ecdsa::to_der(made.value());
  if (der.size() > room)
    return 0;
  std::copy(der.begin(), der.end(), out);
  *size = der.size();
  return 1;
}

// OpenSSL is C, and may have been built or linked without what unwinds it
// (cmake/bcd_link.cmake): nothing that it calls throws.
template <class Result, class... Arguments>
OSSL_DISPATCH row(int id, Result (*f)(Arguments...) noexcept) {
  return {id, reinterpret_cast<void (*)()>(f)};
}

const OSSL_DISPATCH end_of_rows = {0, nullptr};

const OSSL_ALGORITHM* query(void*, int operation, int* no_cache) noexcept {
  static const OSSL_DISPATCH keys[] = {
      row(OSSL_FUNC_KEYMGMT_NEW, key_new),
      row(OSSL_FUNC_KEYMGMT_FREE, key_free),
      row(OSSL_FUNC_KEYMGMT_HAS, key_has),
      row(OSSL_FUNC_KEYMGMT_MATCH, key_match),
      row(OSSL_FUNC_KEYMGMT_IMPORT, key_import),
      row(OSSL_FUNC_KEYMGMT_IMPORT_TYPES, key_import_types),
      row(OSSL_FUNC_KEYMGMT_GET_PARAMS, key_get),
      row(OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS, key_gettable),
      row(OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME, key_operation),
      end_of_rows};
  static const OSSL_DISPATCH signatures[] = {
      row(OSSL_FUNC_SIGNATURE_NEWCTX, sign_new),
      row(OSSL_FUNC_SIGNATURE_FREECTX, sign_free),
      row(OSSL_FUNC_SIGNATURE_DUPCTX, sign_copy),
      row(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT, sign_begin),
      row(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE, sign_more),
      row(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL, sign_end),
      end_of_rows};
  constexpr const char* properties = "provider=bc-outside";
  static const OSSL_ALGORITHM key_rows[] = {
      {"EC:id-ecPublicKey:1.2.840.10045.2.1", properties, keys, ""},
      {nullptr, nullptr, nullptr, nullptr}};
  static const OSSL_ALGORITHM signature_rows[] = {
      {"ECDSA", properties, signatures, ""},
      {nullptr, nullptr, nullptr, nullptr}};
  *no_cache = 0;
  if (operation == OSSL_OP_KEYMGMT)
    return key_rows;
  return operation == OSSL_OP_SIGNATURE ? signature_rows : nullptr;
}

int begin(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH*,
          const OSSL_DISPATCH** out, void** context) noexcept {
  static const OSSL_DISPATCH rows[] = {
      row(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query), end_of_rows};
  *out = rows;
  // Not ours to change, and never is: it only must not be null.
  *context = const_cast<OSSL_CORE_HANDLE*>(handle);
  return 1;
}

// For as long as the process: a key may be anywhere.
OSSL_LIB_CTX* library() {
  static OSSL_LIB_CTX* const out = [] {
    auto* made = OSSL_LIB_CTX_new();
    ossl::must(made != nullptr &&
                   OSSL_PROVIDER_add_builtin(made, "bc-outside", begin) == 1 &&
                   OSSL_PROVIDER_load(made, "bc-outside") != nullptr,
               "the provider of keys that are elsewhere");
    return made;
  }();
  return out;
}

}  // namespace

void free_evp_pkey::operator()(evp_pkey_st* key) const noexcept {
  EVP_PKEY_free(key);
}

evp_pkey_handle outside_key(const public_key& key, outside_signer signer) {
  auto shared = std::make_shared<const outside_signer>(std::move(signer));
  const auto* given = &shared;
  bytes pointer(sizeof given);
  std::memcpy(pointer.data(), &given, sizeof given);
  auto point = key.sec1();
  std::string name{group};
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name.data(),
                                       0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                        point.size()),
      OSSL_PARAM_construct_octet_string(signer_param, pointer.data(),
                                        pointer.size()),
      OSSL_PARAM_construct_end()};
  ossl::pkey_ctx context{EVP_PKEY_CTX_new_from_name(library(), "EC", nullptr)};
  EVP_PKEY* out = nullptr;
  ossl::must(
      context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
          EVP_PKEY_fromdata(context.get(), &out, EVP_PKEY_KEYPAIR, params) == 1,
      "a key that signs elsewhere");
  return evp_pkey_handle{out};
}

evp_pkey_handle evp_key(const private_key& key) {
  const auto pem = key.pkcs8_pem();
  std::unique_ptr<BIO, ossl::deleter<BIO_free_all>> in{BIO_new_mem_buf(
      pem.expose().data(), static_cast<int>(pem.expose().size()))};
  auto* out = in ? PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr)
                 : nullptr;
  ossl::must(out != nullptr, "a key of our own");
  return evp_pkey_handle{out};
}

}  // namespace bc::pki
