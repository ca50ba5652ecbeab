#include "base/text.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/profile_file.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/show.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

namespace bc::cli {

namespace {

namespace fs = std::filesystem;

std::string chosen_name(const context& ctx) {
  return ctx.profile_name.empty() ? std::string{default_profile}
                                  : ctx.profile_name;
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

// "-": for what is piped from a store of secrets.
void read_standard_input(context& ctx) {
  if (ctx.credential_file != "-")
    return;
  ctx.credential_file.clear();
  const std::string all{std::istreambuf_iterator<char>{std::cin}, {}};
  ctx.credential = trimmed(all);
}

bool passes(const call_failure& failure) {
  // Who calls is settled before what may be done: a credential that may do
  // little is good.
  return failure.why.code == errc::access_denied;
}

// Asks what names no tenant; the first event of its own tells which it is.
bool check_credential(context& ctx) {
  json::writer input;
  input.begin_object().field("limit", 1);
  if (!ctx.tenant.empty())
    input.field("tenantId", ctx.tenant);
  call_failure failure;
  auto answer =
      try_call(ctx, "events", "list", input.end_object().str(), failure);
  if (!answer && !passes(failure)) {
    report(ctx, failure.why, failure.exit_code);
    return false;
  }
  if (!ctx.tenant.empty() || !answer || !answer->HasMember("items") ||
      !(*answer)["items"].IsArray() || (*answer)["items"].Empty())
    return true;
  if (auto tenant = json::reader{(*answer)["items"][0]}.text("tenantid"))
    ctx.tenant = tenant.value();
  return true;
}

bool check_pool(context& ctx) {
  if (ctx.pool.empty())
    return true;
  if (ctx.tenant.empty()) {
    report(ctx,
           fail(errc::invalid_input,
                "--pool needs --tenant: the credential does not tell its "
                "tenant; see --help"),
           usage);
    return false;
  }
  json::writer input;
  input.begin_object()
      .field("tenantId", ctx.tenant)
      .field("poolId", ctx.pool)
      .end_object();
  call_failure failure;
  if (try_call(ctx, "pools", "get", input.str(), failure) || passes(failure))
    return true;
  report(ctx, failure.why, failure.exit_code);
  return false;
}

result<profile> profile_of(const context& ctx, bool by_path) {
  profile out;
  out.url = ctx.url;
  out.ca_file = absolute(ctx.ca_file);
  out.tenant = ctx.tenant;
  out.pool = ctx.pool;
  if (ctx.used)
    out.position = ctx.used->settings.position;
  if (by_path && ctx.credential_file.empty())
    return fail(errc::invalid_input,
                "--keep-path needs --credential-file with a path");
  if (by_path) {
    out.credential_file = absolute(ctx.credential_file);
    return out;
  }
  if (uses_kept_credential(ctx) &&
      !ctx.used->settings.credential_file.empty()) {
    out.credential_file = ctx.used->settings.credential_file;
    return out;
  }
  BC_TRY(credential, read_credential(ctx));
  out.credential = std::move(credential);
  return out;
}

json::document shown(const std::string& name, const profile& p) {
  json::document out;
  out.SetObject();
  auto& memory = out.GetAllocator();
  auto put = [&](const char* field, const std::string& text) {
    if (!text.empty())
      out.AddMember(rapidjson::StringRef(field),
                    json::value{text.c_str(), memory}, memory);
  };
  put("profile", name);
  put("url", p.url);
  put("tenantId", p.tenant);
  put("poolId", p.pool);
  return out;
}

void log_in(context& ctx, bool by_path) {
  const auto name = chosen_name(ctx);
  if (!is_profile_name(name))
    return report(
        ctx,
        fail(errc::invalid_input,
             "--profile is 1 to 64 letters, digits, dashes and underscores"),
        usage);
  read_standard_input(ctx);
  if (!settle(ctx, true))
    return;
  auto made = profile_of(ctx, by_path);
  if (!made)
    return report(ctx, made.error(), usage);
  if (!check_credential(ctx) || !check_pool(ctx))
    return;
  made.value().tenant = ctx.tenant;
  auto kept =
      change_profiles(profile_path(), [&](profiles& all) -> result<void> {
        all[name] = made.value();
        return ok();
      });
  if (!kept)
    return report(ctx, kept.error());
  show_record(ctx, shown(name, made.value()));
  if (ctx.tenant.empty())
    warn("the tenant is not known; give it by --tenant to keep it too");
}

void log_out(context& ctx) {
  const auto name = chosen_name(ctx);
  auto removed =
      change_profiles(profile_path(), [&](profiles& all) -> result<void> {
        if (all.erase(name) == 0)
          return fail(errc::not_found, "there is no profile " + name);
        return ok();
      });
  if (!removed)
    return report(ctx, removed.error());
  if (ctx.json())
    return show_record(ctx, shown(name, {}));
  std::cout << "Removed the profile " << name
            << "; its credential stays valid until it is revoked.\n";
}

void list_profiles(context& ctx) {
  auto all = read_profiles(profile_path());
  if (!all)
    return report(ctx, all.error());
  json::document answer;
  answer.SetObject();
  auto& memory = answer.GetAllocator();
  json::value items{rapidjson::kArrayType};
  for (const auto& [name, one] : all.value())
    items.PushBack(json::value{shown(name, one), memory}, memory);
  answer.AddMember("items", items, memory);
  show_list(ctx, answer,
            {text_column("PROFILE", "profile"), free_column("URL", "url"),
             text_column("TENANT", "tenantId"), text_column("POOL", "poolId")});
}

}  // namespace

void add_login(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "login", "Check a credential and keep it with its URL in a profile");
  auto by_path = std::make_shared<bool>(false);
  add_tenant_option(*c, ctx);
  add_text(*c, "--pool", ctx.pool,
           "The pool of join-tokens, when none is given")
      ->type_name("ID");
  c->add_flag("--keep-path", *by_path,
              "Keep the path of --credential-file, not what it holds");
  add_server_options(*c, ctx);
  add_examples(
      *c,
      {"login --url https://compute.example.com --credential-file credential",
       "login --profile lab --url https://lab.example.com \\\n"
       "    --credential-file lab-credential "
       "--pool pool_01k5w3c9t8e4m2v6h0a7n1p5qd",
       "login --url https://compute.example.com --credential-file - < secret"},
      "The profile is a section of $XDG_CONFIG_HOME/better-compute/"
      "profile.toml\n(~/.config without it), 0600. Commands use the profile "
      "`default` unless --profile\nor BETTER_COMPUTE_PROFILE names another; "
      "flags and other variables stand over it.");
  c->callback([&ctx, by_path] { log_in(ctx, *by_path); });

  auto* o = app.add_subcommand("logout", "Remove a profile");
  add_profile_option(*o, ctx);
  add_output_option(*o, ctx);
  add_examples(*o, {"logout", "logout --profile lab"});
  o->callback([&ctx] { log_out(ctx); });

  auto* l = app.add_subcommand("profiles", "List the profiles, no credentials");
  add_output_option(*l, ctx);
  add_examples(*l, {"profiles"});
  l->callback([&ctx] { list_profiles(ctx); });
}

}  // namespace bc::cli
