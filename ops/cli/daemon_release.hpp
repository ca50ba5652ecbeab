#pragma once

#include "base/result.hpp"
#include "ops/cli/context.hpp"
#include "pki/release.hpp"

#include <string>

/// `daemon release` and `daemon release-key`: who says which program is bcd.
namespace bc::cli {

void add_release(CLI::App& group, context& ctx);
void add_release_key(CLI::App& group, context& ctx);

/// The entry of "ARCH=FILE". INVALID_INPUT when the file is no 64-bit ELF
/// program of that architecture.
[[nodiscard]] result<pki::release_file> release_file_of(
    const std::string& argument);

}  // namespace bc::cli
