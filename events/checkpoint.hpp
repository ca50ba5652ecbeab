#pragma once

#include "events/journal.hpp"
#include "pki/key.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Signed heads of the journal, and the forms they have outside the store
/// (spec: DESIGN section 4). The signature covers the incarnation too, which
/// no row's hash does.
namespace bc::events {

[[nodiscard]] checkpoint sign_checkpoint(const head_row& head, time_point at,
                                         const pki::private_key& key);
[[nodiscard]] bool is_signed_by(const checkpoint& c,
                                const pki::public_key& key);
[[nodiscard]] bool is_signed_by_any(const checkpoint& c,
                                    std::span<const pki::public_key> keys);

/// For a log: "checkpoint incarnation=… position=… commit=… link=… time=…
/// signature=…", all that a check from outside the store needs.
[[nodiscard]] std::string checkpoint_line(const checkpoint& c);
/// For Kafka and for an export: {"kind":"checkpoint","incarnation":…}.
[[nodiscard]] std::string checkpoint_json(const checkpoint& c);

/// Reads checkpoint_json's form alone; else INVALID_INPUT.
[[nodiscard]] result<checkpoint> parse_checkpoint_json(std::string_view text);
/// The checkpoint in one line of a log, of an export or of a topic's values,
/// whatever a log put before it; nullopt for a line that holds none,
/// INVALID_INPUT for one that cannot be read.
[[nodiscard]] result<std::optional<checkpoint>> find_checkpoint(
    std::string_view line);

/// The public key of checkpoints as one line of base64 (SubjectPublicKeyInfo),
/// and back; or several, a line each, none of them another thing.
[[nodiscard]] std::string journal_key_text(const pki::public_key& key);
[[nodiscard]] result<pki::public_key> parse_journal_key(std::string_view text);
[[nodiscard]] result<std::vector<pki::public_key>> parse_journal_keys(
    std::string_view text);

}  // namespace bc::events
