#include "ops/cli/store.hpp"

#include "ops/cli/commands.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/serve/identity.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>

namespace bc::cli {

CLI::Option* add_store_option(CLI::App& command, std::string& url) {
  return add_text(command, "--store", url,
                  "The store: sqlite:PATH or postgres://USER@HOST/NAME")
      ->envname("BETTER_COMPUTE_STORE");
}

std::optional<store::location> store_at(context& ctx, const std::string& url) {
  auto where = store::parse_url(url);
  if (where)
    return std::move(where).value();
  report(ctx, where.error(), usage);
  return std::nullopt;
}

result<secret_bytes> deployment_secret() {
  const char* file = std::getenv("BETTER_COMPUTE_SECRET_FILE");
  return serve::deployment_secret(file == nullptr ? "" : file);
}

result<std::shared_ptr<const pki::key_bundle>> open_keys(
    const std::string& file, const std::string& url) {
  BC_TRY(secret, deployment_secret());
  if (!file.empty()) {
    BC_TRY(sealed, read_secret_file(file));
    return pki::open_bundle(sealed.expose_text(), secret);
  }
  system_clock time;
  BC_TRY(where, store::parse_url(url));
  BC_TRY(journal, store::open_reader(where, time));
  BC_TRY(keys, serve::load_keys(*journal, secret));
  if (!keys)
    return fail(errc::not_found, store::shown(where) +
                                     " has no keys; run: better-compute pki "
                                     "init --trust-domain NAME --store " +
                                     store::shown(where));
  return std::move(keys);
}

void add_migrate(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "migrate", "Make a store, or bring it to this program's schema");
  auto url = std::make_shared<std::string>();
  add_store_option(*c, *url)->required();
  add_output_option(*c, ctx);
  add_examples(
      *c,
      {"migrate --store sqlite:/var/lib/better-compute/j.db",
       "migrate --store postgres://compute@db.example.com/compute"},
      "The servers need not stop for Postgres; an SQLite store must not be in "
      "use.\nRead models that an older program wrote are made anew.");
  c->callback([&ctx, url] {
    auto where = store_at(ctx, *url);
    if (!where)
      return;
    system_clock time;
    auto version = store::migrate(*where, time);
    if (!version)
      return report(ctx, version.error());
    if (ctx.json())
      std::cout << "{\"schema\":" << version.value() << "}\n";
    else
      std::cout << store::shown(*where) << " has schema " << version.value()
                << "\n";
  });
}

}  // namespace bc::cli
