#include "ops/cli/api_command.hpp"

#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/show.hpp"
#include "ops/cli/terminal.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <limits>
#include <memory>

namespace bc::cli {

namespace {

/// What an argument was given.
struct given {
  std::string one;
  std::vector<std::string> many;
  bool set = false;
  CLI::Option* option = nullptr;

  [[nodiscard]] std::vector<std::string> texts(arity takes) const {
    return takes == arity::many ? many : std::vector{one};
  }
};

/// A command's arguments, while it runs.
struct invocation {
  api_command command;
  std::string group;
  std::vector<given> arguments;  // one for each of the command's
  std::string out;
  bool yes = false;
  bool wait = false;
  pages wanted;
};

std::string check_one(const argument& a, const std::string& text) {
  if (a.check)
    if (auto wrong = a.check(text); !wrong.empty())
      return wrong;
  return {};
}

void add_argument(CLI::App& c, const argument& a, given& to) {
  if (a.takes == arity::flag)
    to.option = c.add_flag(a.name, to.set, a.help);
  else if (a.takes == arity::many)
    // One text for each time it is given: it swallows no positional.
    to.option = c.add_option(a.name, to.many, a.help)->allow_extra_args(false);
  else
    to.option = c.add_option(a.name, to.one, a.help);
  if (a.takes == arity::flag)
    return;
  to.option->type_name(a.value_name);
  to.option->check(CLI::Validator{
      [a](const std::string& text) { return check_one(a, text); }, ""});
  if (!a.choices.empty())
    to.option->check(CLI::IsMember(a.choices));
  if (a.required && a.kept == nullptr)
    to.option->required();
}

void add_paging(CLI::App& c, invocation& call) {
  add_number(c, "--limit", call.wanted.most, 0,
             std::numeric_limits<std::int32_t>::max(),
             "How many at most; 0: all");
  add_text(c, "--cursor", call.wanted.cursor,
           "Go on where an answer said there is more");
}

// What was not given and the profile has.
result<void> take_kept(const context& ctx, invocation& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& a = call.command.arguments[i];
    auto& g = call.arguments[i];
    if (a.kept == nullptr || g.option->count() > 0)
      continue;
    g.one = ctx.*a.kept;
    if (g.one.empty() && a.required)
      return fail(errc::invalid_input, a.name + " is required; see --help");
  }
  return ok();
}

bool is_given(const argument& a, const given& g) {
  return g.option->count() > 0 || (a.kept != nullptr && !g.one.empty());
}

result<json::document> input_of(const context& ctx, const invocation& call) {
  json::document input;
  input.SetObject();
  member_at(input, "tenantId")
      .SetString(ctx.tenant.c_str(), input.GetAllocator());
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& a = call.command.arguments[i];
    const auto& g = call.arguments[i];
    if (is_given(a, g)) {
      BC_TRYV(a.put(input, g.texts(a.takes)));
    }
  }
  return input;
}

result<void> check_together(const invocation& call) {
  if (!call.command.check)
    return ok();
  std::set<std::string> fields;
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (is_given(call.command.arguments[i], call.arguments[i]))
      fields.insert(call.command.arguments[i].field);
  auto wrong = call.command.check(fields);
  if (wrong.empty())
    return ok();
  return fail(errc::invalid_input, wrong + "; see --help");
}

// Of the first argument without a name.
std::string subject_of(const invocation& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (!call.command.arguments[i].name.starts_with('-'))
      return " " + call.arguments[i].one;
  return {};
}

// What to say of an answer without the secret that it was to show.
std::string no_secret(const one_time_secret& secret,
                      const json::document& record) {
  auto id = json::reader{record}.text("id");
  return secret.missing + "; revoke " + (id ? id.value() : "it") + " and " +
         secret.another;
}

// The answer to `create` without its secret, which is in the file.
void keep_secret(context& ctx, const one_time_secret& secret,
                 json::document& record, new_secret_file& file,
                 const std::string& path) {
  json::reader from{record};
  auto text = from.text(secret.field);
  if (!text)
    return report(ctx, fail(errc::invalid_state, no_secret(secret, record)));
  if (auto kept = file.keep(text.value() + "\n"); !kept) {
    auto why = kept.error();
    auto id = from.text("id");
    why.message += "; the " + secret.noun +
                   " was created and is lost: revoke " +
                   (id ? id.value() : "it") + " and " + secret.another;
    return report(ctx, why);
  }
  record.RemoveMember(secret.field.c_str());
  show_record(ctx, record);
  if (!ctx.json())
    std::cout << "The " << secret.noun << " is in " << path << " (0600).\n";
}

void run_list(context& ctx, const invocation& call,
              const json::document& input) {
  auto answer = call_pages(ctx, api_name(call.group),
                           api_name(call.command.name), input, call.wanted);
  if (answer)
    show_list(ctx, *answer, call.command.columns);
}

// The file is made before the secret, so that none is lost for it.
void run_record(context& ctx, const invocation& call,
                const json::document& input) {
  std::optional<new_secret_file> file;
  if (!call.out.empty()) {
    auto created = new_secret_file::create(call.out);
    if (!created)
      return report(ctx, created.error());
    file.emplace(std::move(created).value());
  }
  auto record = cli::call(ctx, api_name(call.group),
                          api_name(call.command.name), json::to_text(input));
  if (record && call.wait)
    record = wait_for_end(ctx, api_name(call.group), *call.command.ends_later,
                          std::move(*record));
  if (!record)
    return;
  const auto& secret = call.command.secret;
  if (file)
    return keep_secret(ctx, *secret, *record, *file, call.out);
  show_record(ctx, *record);
  if (secret && !record->HasMember(secret->field.c_str()))
    warn(no_secret(*secret, *record));
}

void run(context& ctx, invocation& call) {
  if (!settle_tenant(ctx))
    return;
  auto input = take_kept(ctx, call);
  if (!input)
    return report(ctx, input.error(), usage);
  if (auto good = check_together(call); !good)
    return report(ctx, good.error(), usage);
  auto body = input_of(ctx, call);
  if (!body)
    return report(ctx, body.error(), usage);
  if (!call.command.question.empty())
    if (auto sure =
            confirm(call.yes, call.command.question + subject_of(call) + "?");
        !sure)
      return report(ctx, sure.error(), usage);
  if (call.command.columns.empty())
    run_record(ctx, call, body.value());
  else
    run_list(ctx, call, body.value());
}

void add_command(CLI::App& group, context& ctx, const api_command& command) {
  auto* c = group.add_subcommand(command.name, command.help);
  auto call = std::make_shared<invocation>();
  call->command = command;
  call->group = group.get_name();
  call->wanted.most = command.rows;
  // The options point into it.
  call->arguments.resize(command.arguments.size());
  for (std::size_t i = 0; i < command.arguments.size(); ++i)
    add_argument(*c, command.arguments[i], call->arguments[i]);
  if (!command.columns.empty())
    add_paging(*c, *call);
  if (command.secret)
    add_out(*c, call->out,
            "Write the " + command.secret->noun +
                " to this new 0600 file; never over one");
  if (command.ends_later)
    c->add_flag("--wait", call->wait, "Wait for what becomes of it");
  if (!command.question.empty())
    add_yes(*c, call->yes);
  add_utc_option(*c, ctx);
  add_tenant_option(*c, ctx);
  add_server_options(*c, ctx);
  add_examples(*c, command.examples, command.notes);
  c->callback([&ctx, call] { run(ctx, *call); });
}

}  // namespace

std::string api_name(std::string_view command) {
  std::string out;
  bool raised = false;
  for (char c : command) {
    if (c == '-') {
      raised = true;
      continue;
    }
    // By no locale (CASES 147).
    out +=
        raised && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    raised = false;
  }
  return out;
}

void add_api_group(CLI::App& app, context& ctx, const api_group& group) {
  auto* g = app.add_subcommand(group.name, group.help);
  g->require_subcommand(1);
  for (const auto& command : group.commands)
    add_command(*g, ctx, command);
}

}  // namespace bc::cli
