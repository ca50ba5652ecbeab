#pragma once

#include "base/result.hpp"
#include "ops/cli/context.hpp"
#include "pki/bundle.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

/// What a machine is installed with: the pins of a deployment's keys, and the
/// key it seals its token to.
namespace bc::cli {

struct machine_keys {
  std::string serving_ca_pin;
  std::string join_signing_pin;
  std::string join_encryption_pin;
  std::string join_encryption_jwk;  // of that pin
};

[[nodiscard]] machine_keys keys_of(const pki::key_bundle& bundle);

/// From what `pki show --output json` prints, or from the well-known document.
/// INVALID_INPUT when a pin is missing or wrong, or is not the key's.
[[nodiscard]] result<machine_keys> parse_machine_keys(std::string_view json);

/// Where a command takes them from, the first that was given: a file, a bundle,
/// a store, else the server's well-known document.
struct keys_place {
  std::string pins_file;  // "-": standard input
  std::string bundle;
  std::string store;
};

/// Adds --pins, --bundle, --store and the options of a server.
void add_keys_options(CLI::App& command, context& ctx, keys_place& at);
/// nullopt when it failed, which was then reported.
[[nodiscard]] std::optional<machine_keys> read_machine_keys(
    context& ctx, const keys_place& at);

}  // namespace bc::cli
