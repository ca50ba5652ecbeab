#pragma once

#include "ops/cli/context.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <optional>
#include <string>

namespace CLI {
class Option;
}

/// What the commands that work on a store share.
namespace bc::cli {

/// Adds --store (BETTER_COMPUTE_STORE).
CLI::Option* add_store_option(CLI::App& command, std::string& url);

/// The place a URL names; nullopt when it names none, which was then reported.
[[nodiscard]] std::optional<store::location> store_at(context& ctx,
                                                      const std::string& url);

/// The file BETTER_COMPUTE_SECRET_FILE names, else BETTER_COMPUTE_SECRET;
/// INVALID_CONFIG without either.
[[nodiscard]] result<secret_bytes> deployment_secret();

/// The key bundle of a file, or when `file` is empty of the store. NOT_FOUND
/// when the store has none.
[[nodiscard]] result<std::shared_ptr<const pki::key_bundle>> open_keys(
    const std::string& file, const std::string& url);

}  // namespace bc::cli
