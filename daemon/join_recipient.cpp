#include "daemon/join_recipient.hpp"

#include "pki/jwe.hpp"

#include <filesystem>
#include <fstream>

namespace bc::daemon {

namespace {

constexpr std::size_t max_jwk = 4096;

recipient no_key(join_exit code, std::string message) {
  return {std::nullopt, code, std::move(message)};
}

recipient with_pin(const pki::public_key& key, const config& c,
                   const std::string& from) {
  if (key.pin() == c.join_encryption_key_pin)
    return {key};
  return no_key(join_exit::untrusted,
                "the key " + from +
                    " does not have the pin join_encryption_key_pin; nothing "
                    "was sent");
}

recipient fetched(const config& c,
                  const std::function<result<pki::public_key>()>& fetch) {
  auto key = fetch();
  if (key)
    return with_pin(key.value(), c, "of the control plane's document");
  const auto& why = key.error();
  auto code = why.code == errc::access_denied    ? join_exit::untrusted
              : why.code == errc::invalid_config ? join_exit::server_config
                                                 : join_exit::unreachable;
  return no_key(code, "cannot fetch the key to seal the token to: " +
                          why.message + "; nothing was sent");
}

}  // namespace

// A file that is there and wrong fails also where one could be fetched: it
// tells that the machine was not set up for the keys of today.
recipient join_recipient(
    const config& c, const std::function<result<pki::public_key>()>& fetch) {
  auto file = c.join_encryption_jwk.string();
  std::error_code ec;
  bool is_there =
      std::filesystem::symlink_status(c.join_encryption_jwk, ec).type() !=
      std::filesystem::file_type::not_found;
  if (!is_there && fetch)
    return fetched(c, fetch);
  std::ifstream in{c.join_encryption_jwk, std::ios::binary};
  std::string text(max_jwk + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.empty() || text.size() > max_jwk)
    return no_key(join_exit::usage,
                  "cannot read the key file " + file +
                      (is_there ? ""
                                : "; --server URL fetches the key from the "
                                  "control plane"));
  auto key = pki::from_jwk(text);
  if (!key)
    return no_key(
        join_exit::usage,
        file + " is not a P-256 public key (JWK): " + key.error().message);
  return with_pin(key.value(), c, "in " + file);
}

}  // namespace bc::daemon
