#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace bc::daemon {

/// A token that was read from a file (spec: joining#the-join-key-and-its-
/// fallback, CASES 171).
struct token_in_file {
  secret_bytes token;
  std::filesystem::path file;  // the file itself, links followed
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

/// Reads a token from a file that its owner alone can read (mode 0600 or 0400),
/// regular, of at most 4096 bytes. Links are followed, as a Kubernetes Secret
/// is reached by them; what was opened is what is judged and read, whatever is
/// put in its place meanwhile. INVALID_INPUT that says what to change and
/// holds no part of the content.
[[nodiscard]] result<token_in_file> read_token_file(
    const std::filesystem::path& file);

/// Removes the file, unless another is in its place by now, and the link that
/// led to it. nullopt: it is gone; else why it is still there.
[[nodiscard]] std::optional<std::string> remove_token_file(
    const std::filesystem::path& given, const token_in_file& read);

}  // namespace bc::daemon
