#pragma once

#include <string>
#include <string_view>

struct X509_name_st;  // OpenSSL's X509_NAME

namespace bc::pki::tpm {

/// RFC 2253, as `openssl x509 -issuer -nameopt RFC2253` prints it behind
/// "issuer="; empty for one that cannot be written so.
[[nodiscard]] std::string text_of_name(const X509_name_st* name);

/// True for what text_of_name writes of some name, to the letter. Of one name
/// there are many texts, and no other than this is ever equal to an issuer's.
[[nodiscard]] bool is_name_text(std::string_view text);

}  // namespace bc::pki::tpm
