#pragma once

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "pki/key.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// The control plane's well-known document, as a joining machine uses it
/// (spec: joining#the-join-key-and-its-fallback).
namespace bc::daemon {

struct join_document {
  pki::public_key encryption_key;
  std::string encryption_jwk;  // the text of that key
  std::string signing_pin;
  std::string gateway_url;     // empty: the document names none
  std::string serving_ca_pin;  // empty: likewise
};

/// Reads the document. Fields that are not known are ignored. INVALID_CONFIG
/// when it has no `join` section (the server has no join keys); INVALID_INPUT
/// for anything else that is missing or contradicts itself.
[[nodiscard]] result<join_document> parse_join_document(std::string_view text);

/// Fetches the document from {server}/.well-known/better-compute, else from
/// {server}/api/compute/…. UNAVAILABLE when nobody answers, ACCESS_DENIED when
/// no root vouches for the server, and what parse_join_document() says.
[[nodiscard]] result<join_document> fetch_join_document(
    const document_source& server);

/// What a machine is told about a control plane before it trusts a document.
struct given_pins {
  std::string serving_ca;
  std::string join_signing;
  std::string join_encryption;
};

/// A machine's configuration, made of a document and pins. ACCESS_DENIED naming
/// the first pin that differs; INVALID_CONFIG when the document names no
/// gateway. Without pins (nullopt) the document's own are taken: trust on
/// first use.
[[nodiscard]] result<config> make_config(
    const join_document& document, const std::optional<given_pins>& pins,
    const std::string& site, const std::filesystem::path& config_file);

/// The text of a configuration file that load_config() reads back.
[[nodiscard]] std::string to_toml(const config& c);

/// Whether config.toml and join-encryption.jwk can be written here: makes the
/// folder. INVALID_STATE when not.
[[nodiscard]] result<void> prepare_config_folder(
    const std::filesystem::path& config_file);
/// Writes join-encryption.jwk (0644), then config.toml (0600), each in one
/// step.
[[nodiscard]] result<void> write_config(const config& c,
                                        const join_document& document,
                                        const std::filesystem::path& file);

}  // namespace bc::daemon
