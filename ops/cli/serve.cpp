#include "ops/serve/serve.hpp"

#include "ops/cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>

namespace bc::cli {

namespace {

// The configuration of a program that runs: --config, and a flag for each
// setting that one text can hold.
template <class Config>
struct layered {
  Config config;
  std::string file;
  std::vector<serve::option> options;
  std::vector<std::string> flags;  // the text given, one for each option

  result<void> read(const CLI::App& c) {
    auto over = serve::from_environment(options);
    for (std::size_t i = 0; i < options.size(); ++i) {
      auto name = serve::flag_of(options[i].key);
      if (serve::has_flag(options[i]) && c.count(name) > 0)
        over.push_back({options[i].key, flags[i], name});
    }
    BC_TRYV(serve::read_options(options, file, over));
    return serve::check(config);
  }
};

std::string help_of(const serve::option& o) {
  return o.help + " [" + serve::variable_of(o.key) + "]";
}

template <class Config>
void add_program(CLI::App& app, context& ctx, const char* name,
                 const char* help) {
  auto* c = app.add_subcommand(name, help);
  auto l = std::make_shared<layered<Config>>();
  l->options = serve::options_of(l->config);
  l->flags.resize(l->options.size());
  c->add_option("--config", l->file,
                "TOML file; the environment and these flags stand over it")
      ->envname("BETTER_COMPUTE_CONFIG");
  for (std::size_t i = 0; i < l->options.size(); ++i)
    if (const auto& o = l->options[i]; serve::has_flag(o))
      c->add_option(serve::flag_of(o.key), l->flags[i], help_of(o));
  c->callback([&ctx, c, l] {
    if (auto read = l->read(*c); !read)
      return report(ctx, read.error(), usage);
    auto code = serve::run(l->config);
    if (!code)
      return report(ctx, code.error());
    ctx.exit_code = code.value();
  });
}

}  // namespace

void add_serve(CLI::App& app, context& ctx) {
  add_program<serve::serve_config>(
      app, ctx, "serve",
      "Run the API and the join service on a store; SIGTERM stops it");
}

void add_gateway(CLI::App& app, context& ctx) {
  add_program<serve::gateway_config>(
      app, ctx, "gateway",
      "Run a gateway: machines come in, API processes answer; SIGTERM stops "
      "it");
}

}  // namespace bc::cli
