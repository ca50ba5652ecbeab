#include "ops/cli/pki_bundle.hpp"

#include "ops/cli/gateway_files.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/store.hpp"

#include <CLI/CLI.hpp>

namespace bc::cli {

void add_bundle_place(CLI::App& command, bundle_place& at,
                      const char* file_names, const char* file_help) {
  auto* url = add_store_option(command, at.url);
  url->description("The store that holds the key bundle");
  command.add_option(file_names, at.file, file_help)->type_name("FILE");
}

void add_bundle_place(CLI::App& command, bundle_place& at) {
  add_bundle_place(command, at, "--file,--bundle",
                   "Instead of a store: the file of the sealed bundle "
                   "[better-compute.bundle]");
}

std::shared_ptr<const pki::key_bundle> load_bundle(context& ctx,
                                                   const bundle_place& at) {
  if (auto secret = deployment_secret(); !secret) {
    report(ctx, secret.error(), usage);
    return nullptr;
  }
  if (at.in_store() && !store_at(ctx, at.url))
    return nullptr;
  auto bundle = open_keys(at.in_store() ? "" : at.path(), at.url);
  if (bundle)
    return std::move(bundle).value();
  auto why = std::move(bundle).error();
  if (at.url.empty() && at.file.empty())
    why.message += "; give --store URL (BETTER_COMPUTE_STORE) or --bundle FILE";
  report(ctx, why);
  return nullptr;
}

}  // namespace bc::cli
