#pragma once

#include "ops/cli/context.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace bc::cli {

/// Where the bundle is: a store, or a file of its own. What was asked for on
/// the command line wins over what the shell carries along.
struct bundle_place {
  std::string url;
  std::string file;

  [[nodiscard]] bool in_store() const { return !url.empty() && file.empty(); }
  [[nodiscard]] std::string path() const {
    return file.empty() ? "better-compute.bundle" : file;
  }
};

/// --store and the names of the option that takes a file instead.
void add_bundle_place(CLI::App& command, bundle_place& at,
                      const char* file_names, const char* file_help);
/// The same for a bundle that is there: --file, --bundle.
void add_bundle_place(CLI::App& command, bundle_place& at);

/// Null when it failed, which was then reported.
[[nodiscard]] std::shared_ptr<const pki::key_bundle> load_bundle(
    context& ctx, const bundle_place& at);

/// `pki rotate`.
void add_pki_rotate(CLI::App& pki, context& ctx);

}  // namespace bc::cli
