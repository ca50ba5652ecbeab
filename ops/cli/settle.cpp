#include "events/credential.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/profile_file.hpp"
#include "ops/cli/server.hpp"

#include <cstdlib>

namespace bc::cli {

namespace {

constexpr const char* default_url = "http://127.0.0.1:7780";

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string{} : std::string{text};
}

void take(std::string& into, const std::string& from) {
  if (into.empty())
    into = from;
}

// One that nobody asked for by name may be out of reach, as in a service.
bool may_be_missing(const context& ctx, const fault& why) {
  return ctx.profile_name.empty() && why.code == errc::access_denied;
}

result<void> add_profile(context& ctx, bool may_be_new) {
  const auto path = profile_path();
  auto all = path.empty() ? result<profiles>{profiles{}} : read_profiles(path);
  if (!all)
    return may_be_missing(ctx, all.error()) ? ok() : result<void>{all.error()};
  const auto name = ctx.profile_name.empty() ? std::string{default_profile}
                                             : ctx.profile_name;
  auto found = all.value().find(name);
  if (found == all.value().end()) {
    if (ctx.profile_name.empty() || may_be_new)
      return ok();
    return fail(errc::invalid_config, "there is no profile " + name +
                                          "; `better-compute login --profile " +
                                          name + "` makes it");
  }
  auto& settings = found->second;
  if (!ctx.url.empty() && !same_url(ctx.url, settings.url)) {
    ctx.url_of_unused = settings.url;
    return ok();
  }
  take(ctx.url, settings.url);
  take(ctx.ca_file, settings.ca_file);
  take(ctx.tenant, settings.tenant);
  take(ctx.pool, settings.pool);
  ctx.used = used_profile{name, std::move(settings)};
  return ok();
}

result<std::string> text_of_file(const std::string& file) {
  if (events::credential::parse_bearer(file))
    return fail(errc::invalid_input,
                "--credential-file is the path of a file, not the credential");
  BC_TRY(secret, read_secret_file(file));
  return std::string{secret.expose_text()};
}

// Why a profile that is there was of no use.
std::string profile_left_aside(const context& ctx) {
  if (ctx.url_of_unused.empty())
    return {};
  return "; the profile's is for " + ctx.url_of_unused + ", not for " + ctx.url;
}

fault no_credential(const context& ctx) {
  const std::string what =
      "no credential: `better-compute login` keeps one, or set "
      "BETTER_COMPUTE_CREDENTIAL_FILE (a 0600 file) or "
      "BETTER_COMPUTE_CREDENTIAL";
  return fail(errc::unauthenticated, what + profile_left_aside(ctx));
}

constexpr const char* text_variable = "BETTER_COMPUTE_CREDENTIAL";
constexpr const char* file_variable = "BETTER_COMPUTE_CREDENTIAL_FILE";

}  // namespace

bool settle_profile(context& ctx, bool may_be_new) {
  if (auto added = add_profile(ctx, may_be_new); !added) {
    report(ctx, added.error(), usage);
    return false;
  }
  return true;
}

bool settle(context& ctx, bool may_be_new) {
  if (!settle_profile(ctx, may_be_new))
    return false;
  take(ctx.url, default_url);
  return true;
}

bool settle_tenant(context& ctx) {
  if (!settle(ctx))
    return false;
  if (!ctx.tenant.empty())
    return true;
  report(ctx,
         fail(errc::invalid_input,
              "--tenant is required (or BETTER_COMPUTE_TENANT, or a profile "
              "with a tenant)" +
                  profile_left_aside(ctx) + "; see --help"),
         usage);
  return false;
}

bool uses_kept_credential(const context& ctx) {
  return ctx.used && ctx.credential.empty() && ctx.credential_file.empty() &&
         from_environment(text_variable).empty() &&
         from_environment(file_variable).empty();
}

// What was asked for here and now wins over what the shell carries along, and
// that over what is kept.
result<std::string> read_credential(const context& ctx) {
  if (!ctx.credential.empty())
    return ctx.credential;
  if (!ctx.credential_file.empty())
    return text_of_file(ctx.credential_file);
  if (auto text = from_environment(text_variable); !text.empty())
    return text;
  if (auto file = from_environment(file_variable); !file.empty())
    return text_of_file(file);
  if (!ctx.used)
    return no_credential(ctx);
  const auto& kept = ctx.used->settings;
  if (!kept.credential.empty())
    return kept.credential;
  if (!kept.credential_file.empty())
    return text_of_file(kept.credential_file);
  return no_credential(ctx);
}

}  // namespace bc::cli
