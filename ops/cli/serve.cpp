#include "ops/serve/serve.hpp"

#include "ops/cli/commands.hpp"
#include "ops/cli/layered.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace bc::cli {

namespace {

template <class Config>
void add_program(CLI::App& app, context& ctx, const char* name,
                 const char* help, const std::vector<std::string>& examples) {
  auto* c = app.add_subcommand(name, help);
  auto config = std::make_shared<Config>();
  auto from = std::make_shared<layered>(serve::options_of(*config));
  from->add_file(*c);
  from->add_flags(*c);
  add_examples(*c, examples);
  c->callback([&ctx, config, from] {
    auto read = from->read();
    if (read)
      read = serve::check(*config);
    if (!read)
      return report(ctx, read.error(), usage);
    auto code = serve::run(*config);
    if (!code)
      return report(ctx, code.error());
    ctx.exit_code = code.value();
  });
}

}  // namespace

void add_serve(CLI::App& app, context& ctx) {
  add_program<serve::serve_config>(
      app, ctx, "serve",
      "Run the API and the join service on a store; SIGTERM stops it, SIGHUP "
      "takes a renewed certificate of the API",
      {"serve --config better-compute.toml",
       "serve --store sqlite:journal.db --api-port 7780"});
}

void add_gateway(CLI::App& app, context& ctx) {
  add_program<serve::gateway_config>(
      app, ctx, "gateway",
      "Run a gateway: machines come in, API processes answer; SIGTERM stops "
      "it, SIGHUP takes renewed certificates",
      {"gateway --config gateway.toml"});
}

}  // namespace bc::cli
