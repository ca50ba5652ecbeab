#pragma once

#include "base/result.hpp"
#include "gateway/http_server.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway {

/// A certificate revocation list as it is served.
struct revocation_list {
  std::string der;
  /// The same for lists that say the same, whichever process made them.
  std::string edition;
};

/// Finds the list of an authority (pki::authority_id); empty: of the one that
/// issues now. NOT_FOUND for another, UNAVAILABLE while there is none yet. Runs
/// on an I/O thread and must not block.
using find_revocation_list =
    std::function<result<std::shared_ptr<const revocation_list>>(
        std::string_view authority)>;

/// Whose list {basePath} + `path` is: empty for /pki/crl, the hexadecimal
/// digits of /pki/crl/{authority}; nullopt for any other path.
[[nodiscard]] std::optional<std::string_view> parse_revocation_list(
    std::string_view path);

/// 200 with the DER, or 304 without it when the request's if-none-match names
/// this edition.
[[nodiscard]] http_response revocation_list_answer(const http_request& request,
                                                   const revocation_list& list);

}  // namespace bc::gateway
