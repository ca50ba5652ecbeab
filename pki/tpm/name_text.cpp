#include "pki/tpm/name_text.hpp"

#include "base/encoding.hpp"
#include "pki/ossl.hpp"

#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <vector>

namespace bc::pki::tpm {

namespace {

using name_ptr = std::unique_ptr<X509_NAME, ossl::deleter<X509_NAME_free>>;
using any_value = std::unique_ptr<ASN1_TYPE, ossl::deleter<ASN1_TYPE_free>>;

constexpr std::size_t most_text = 1024;

/// One attribute: its type, and its value with the escapes in it.
struct attribute {
  std::string type;
  std::string_view value;
  bool joins_next = false;  // of one RDN with the attribute after it
};

std::optional<std::vector<attribute>> attributes_of(std::string_view text) {
  std::vector<attribute> out;
  for (;;) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      return std::nullopt;
    auto end = equals + 1;
    while (end < text.size() && text[end] != ',' && text[end] != '+')
      end += text[end] == '\\' ? 2 : 1;
    const bool is_last = end >= text.size();
    out.push_back({std::string{text.substr(0, equals)},
                   text.substr(equals + 1, end - equals - 1),
                   !is_last && text[end] == '+'});
    if (is_last)
      return out;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::string> unescaped(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    if (value.front() != '\\') {
      out += value.front();
      value.remove_prefix(1);
      continue;
    }
    value.remove_prefix(1);
    if (value.empty())
      return std::nullopt;
    if (auto byte = from_hex(value.substr(0, 2))) {
      out += static_cast<char>(byte.value().front());
      value.remove_prefix(2);
      continue;
    }
    out += value.front();
    value.remove_prefix(1);
  }
  return out;
}

// "#" and the DER of a value whose type OpenSSL does not know.
bool add_encoded(X509_NAME* to, const attribute& a, int set) {
  auto der = from_hex(a.value.substr(1));
  if (!der || der.value().empty())
    return false;
  const auto* at = der.value().data();
  any_value read{
      d2i_ASN1_TYPE(nullptr, &at, static_cast<long>(der.value().size()))};
  if (read == nullptr || at != der.value().data() + der.value().size())
    return false;
  const int type = ASN1_TYPE_get(read.get());
  if (type == V_ASN1_NULL || type == V_ASN1_BOOLEAN || type == V_ASN1_OBJECT)
    return false;
  const auto* value = read->value.asn1_string;
  return X509_NAME_add_entry_by_txt(to, a.type.c_str(), type,
                                    ASN1_STRING_get0_data(value),
                                    ASN1_STRING_length(value), -1, set) == 1;
}

bool add(X509_NAME* to, const attribute& a, int set) {
  if (a.value.starts_with('#'))
    return add_encoded(to, a, set);
  const auto value = unescaped(a.value);
  return value && X509_NAME_add_entry_by_txt(
                      to, a.type.c_str(), V_ASN1_UTF8STRING,
                      reinterpret_cast<const unsigned char*>(value->data()),
                      static_cast<int>(value->size()), -1, set) == 1;
}

// The text begins with the last attribute of the name.
bool add_all(X509_NAME* to, const std::vector<attribute>& all) {
  for (auto i = all.size(); i-- > 0;)
    if (!add(to, all[i], all[i].joins_next ? -1 : 0))
      return false;
  return true;
}

}  // namespace

std::string text_of_name(const X509_name_st* name) {
  std::unique_ptr<BIO, ossl::deleter<BIO_free>> out{BIO_new(BIO_s_mem())};
  ossl::must(out != nullptr, "out of memory");
  if (X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) {
    ossl::drain_errors();
    return {};
  }
  char* data = nullptr;
  auto size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

bool is_name_text(std::string_view text) {
  if (text.size() > most_text)
    return false;
  const auto attributes = attributes_of(text);
  if (!attributes)
    return false;
  name_ptr name{X509_NAME_new()};
  ossl::must(name != nullptr, "out of memory");
  const bool same =
      add_all(name.get(), *attributes) && text_of_name(name.get()) == text;
  ossl::drain_errors();
  return same;
}

}  // namespace bc::pki::tpm
