#include "base/json.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/store.hpp"
#include "ops/serve/first_start.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

struct bootstrap_options {
  std::string store;
  std::string file;
  bool again = false;
};

result<tenant_id> bootstrap(const bootstrap_options& o) {
  system_clock time;
  BC_TRY(where, store::parse_url(o.store));
  BC_TRY(opened, store::open(where, time));
  return o.again ? serve::bootstrap_again(*opened.journal, o.file, time.now())
                 : serve::bootstrap(*opened.journal, o.file, time.now());
}

void show(const context& ctx, const tenant_id& tenant,
          const std::string& file) {
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("tenantId", tenant.str())
        .field("credentialFile", file)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "tenant           " << tenant.str() << "\nroot credential  "
            << file << " (0600)\n";
}

}  // namespace

// Beside the other commands of `credentials`, which talk to a server.
void add_bootstrap(CLI::App& app, context& ctx) {
  auto* group = app.get_subcommand("credentials");
  auto* c = group->add_subcommand(
      "bootstrap",
      "Make the root tenant and its first credential in a store that has none");
  auto o = std::make_shared<bootstrap_options>();
  add_store_option(*c, o->store)->required();
  add_out(*c, o->file, "New file (0600) for the credential", {})->required();
  c->add_flag("--again", o->again,
              "When every root credential is lost: make one more, which is an "
              "event; then revoke the lost ones");
  add_output_option(*c, ctx);
  add_examples(*c, {"credentials bootstrap \\\n"
                    "    --store postgres://compute@db.example.com/compute "
                    "--out root-credential"});
  c->callback([&ctx, o] {
    auto tenant = bootstrap(*o);
    if (!tenant)
      return report(ctx, tenant.error());
    show(ctx, tenant.value(), o->file);
  });
}

}  // namespace bc::cli
