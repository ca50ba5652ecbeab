#pragma once

#include "ops/cli/profile.hpp"

#include <functional>
#include <string>

namespace bc::cli {

/// $XDG_CONFIG_HOME/better-compute/profile.toml, else below ~/.config; empty
/// when the environment names neither by an absolute path.
[[nodiscard]] std::string profile_path();

/// The profiles of a file, none when there is no such file. INVALID_CONFIG for
/// one that others can read, that belongs to somebody else, or that says what
/// no profile holds; ACCESS_DENIED when it may not be opened.
[[nodiscard]] result<profiles> read_profiles(const std::string& path);

/// Reads, changes and replaces the file in one step that no other command of
/// this user comes between, and that a crash leaves done or undone. The folder
/// is made (0700). What `change` refuses, or leaves as it was, writes nothing.
/// A link is followed to its file; INVALID_CONFIG when there is none.
[[nodiscard]] result<void> change_profiles(
    const std::string& path,
    const std::function<result<void>(profiles&)>& change);

}  // namespace bc::cli
