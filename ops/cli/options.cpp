#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>

namespace bc::cli {

namespace {

constexpr const char* server_group = "Server";

}  // namespace

void add_profile_option(CLI::App& command, context& ctx) {
  add_text(command, "--profile", ctx.profile_name,
           "Whose settings to use, as `login` kept them [default]")
      ->envname("BETTER_COMPUTE_PROFILE")
      ->group(server_group);
}

void add_utc_option(CLI::App& command, context& ctx) {
  command.add_flag("--utc", ctx.utc, "Exact times instead of \"5m ago\"");
}

void add_server_options(CLI::App& command, context& ctx) {
  add_output_option(command, ctx);
  add_text(command, "--url", ctx.url,
           "The API, for example https://compute.example.com "
           "[the profile's, else http://127.0.0.1:7780]")
      ->type_name("URL")
      ->envname("BETTER_COMPUTE_URL")
      ->group(server_group);
  add_path(command, "--credential-file", ctx.credential_file,
           "File with the credential (0600). Else BETTER_COMPUTE_CREDENTIAL, "
           "else the file BETTER_COMPUTE_CREDENTIAL_FILE names, else the "
           "profile's")
      ->group(server_group);
  add_path(command, "--ca-file", ctx.ca_file,
           "PEM of the CA the API's certificate is from")
      ->envname("BETTER_COMPUTE_CA_FILE")
      ->group(server_group);
  add_profile_option(command, ctx);
}

void add_output_option(CLI::App& command, context& ctx) {
  command
      .add_option("--output", ctx.output, "table for people, json for programs")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
}

void add_tenant_option(CLI::App& command, context& ctx) {
  add_text(command, "--tenant", ctx.tenant,
           "The tenant to act for, as `credentials bootstrap` or "
           "`tenants create` printed it [the profile's]")
      ->type_name("ID")
      ->envname("BETTER_COMPUTE_TENANT")
      ->group(server_group);
}

std::string check_text(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

CLI::Option* add_text(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help) {
  return command.add_option(name, value, help)
      ->check(CLI::Validator{check_text, ""});
}

CLI::Option* add_path(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help) {
  return add_text(command, name, value, help)->type_name("FILE");
}

CLI::Option* add_out(CLI::App& command, std::string& path,
                     const std::string& help, const std::string& without) {
  const auto wrong =
      "must be the path of a new file, not -" +
      (without.empty() ? "" : "; without --out it goes to " + without);
  auto check = [wrong](const std::string& text) {
    return text == "-" ? wrong : "";
  };
  return add_path(command, "--out", path, help)
      ->check(CLI::Validator{check, ""});
}

std::string check_number(const std::string& text, std::int64_t least,
                         std::int64_t most) {
  // The library reads 010 as eight and cuts what is too large.
  std::int64_t number = 0;
  auto [end, bad] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = bad == std::errc{} && end == text.data() + text.size() &&
               std::to_string(number) == text;
  if (whole && number >= least && number <= most)
    return {};
  return "must be a whole number from " + std::to_string(least) + " to " +
         std::to_string(most);
}

CLI::Option* add_number(CLI::App& command, const std::string& name,
                        std::int64_t& value, std::int64_t least,
                        std::int64_t most, const std::string& help) {
  auto check = [least, most](const std::string& text) {
    return check_number(text, least, most);
  };
  return command.add_option(name, value, help)
      ->check(CLI::Validator{check, ""})
      ->type_name("NUMBER")
      ->capture_default_str();
}

void add_yes(CLI::App& command, bool& yes) {
  command.add_flag("--yes", yes, "Do it without asking; needed in scripts");
}

void add_examples(CLI::App& command, const std::vector<std::string>& lines,
                  const std::string& notes) {
  auto text = notes.empty() ? std::string{} : notes + "\n\n";
  text += lines.size() == 1 ? "Example:" : "Examples:";
  for (const auto& line : lines)
    text += "\n  better-compute " + line;
  command.footer(text);
}

}  // namespace bc::cli
