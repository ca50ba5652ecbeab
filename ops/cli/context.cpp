#include "ops/cli/context.hpp"

#include "events/credential.hpp"
#include "gateway/http_client.hpp"
#include "ops/cli/files.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace bc::cli {

namespace {

// The bearer forms: bcjt_<id>.<secret> and bck_<id>.<secret>.
bool holds_secret(std::string_view text) {
  return text.find("bcjt_") != std::string_view::npos ||
         (text.find("bck_") != std::string_view::npos &&
          text.find('.') != std::string_view::npos);
}

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string{} : std::string{text};
}

// Databases answer in several lines.
std::string in_brackets(const std::string& detail) {
  std::istringstream words{detail};
  std::string out;
  for (std::string word; words >> word;)
    out += (out.empty() ? " (" : " ") + word;
  return out.empty() ? out : out + ")";
}

std::string cell_text(const json::value& v) {
  if (v.IsString())
    return {v.GetString(), v.GetStringLength()};
  return v.IsNull() ? "-" : json::to_text(v);
}

}  // namespace

// What was asked for here and now wins over what the shell carries along.
result<std::string> read_credential(const context& ctx) {
  auto file = ctx.credential_file;
  if (file.empty()) {
    auto text = from_environment("BETTER_COMPUTE_CREDENTIAL");
    if (!text.empty())
      return text;
    file = from_environment("BETTER_COMPUTE_CREDENTIAL_FILE");
  }
  if (file.empty())
    return fail(errc::unauthenticated,
                "no credential: set BETTER_COMPUTE_CREDENTIAL_FILE (a 0600 "
                "file) or BETTER_COMPUTE_CREDENTIAL");
  if (events::credential::parse_bearer(file))
    return fail(errc::invalid_input,
                "--credential-file is the path of a file, not the credential");
  BC_TRY(secret, read_secret_file(file));
  return std::string{secret.expose_text()};
}

// The message names the field; details would only repeat it.
fault fault_of(int status, const std::string& body) {
  auto answer = json::parse_object(body);
  if (!answer)
    return fail(errc::internal,
                "the server answered HTTP " + std::to_string(status));
  json::reader from{answer.value()};
  auto error = from.object("error");
  if (!error)
    return fail(errc::internal,
                "the server answered HTTP " + std::to_string(status));
  auto code = error.value().text("code");
  auto message = error.value().text("message");
  auto out = fail(code ? errc_of(code.value()) : errc::internal,
                  message ? message.value() : "");
  return out;
}

void add_server_options(CLI::App& command, context& ctx) {
  command
      .add_option("--url", ctx.url,
                  "The API, for example "
                  "https://compute.example.com")
      ->envname("BETTER_COMPUTE_URL")
      ->capture_default_str();
  add_text(command, "--credential-file", ctx.credential_file,
           "File with the credential (0600). Else "
           "BETTER_COMPUTE_CREDENTIAL, else the file "
           "BETTER_COMPUTE_CREDENTIAL_FILE names");
  command
      .add_option("--ca-file", ctx.ca_file,
                  "PEM of the CA the API's certificate is from")
      ->envname("BETTER_COMPUTE_CA_FILE");
  add_output_option(command, ctx);
}

void add_output_option(CLI::App& command, context& ctx) {
  command.add_option("--output", ctx.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
}

void add_tenant_option(CLI::App& command, context& ctx) {
  command
      .add_option("--tenant", ctx.tenant,
                  "The tenant to act for, as `credentials bootstrap` or "
                  "`tenants create` printed it")
      ->envname("BETTER_COMPUTE_TENANT")
      ->required();
}

CLI::Option* add_text(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help) {
  return command.add_option(name, value, help)
      ->check(CLI::Validator{[](const std::string& text) {
                               return std::string{
                                   text.empty() ? "must not be empty" : ""};
                             },
                             ""});
}

CLI::Option* add_number(CLI::App& command, const std::string& name,
                        std::int64_t& value, std::int64_t least,
                        std::int64_t most, const std::string& help) {
  // The library reads 010 as eight and cuts what is too large.
  auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t number = 0;
    auto [end, bad] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole = bad == std::errc{} && end == text.data() + text.size() &&
                 std::to_string(number) == text;
    if (whole && number >= least && number <= most)
      return {};
    return "must be a whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  };
  return command.add_option(name, value, help)
      ->check(CLI::Validator{check, ""})
      ->capture_default_str();
}

void report_arguments(context& ctx, const CLI::App& app,
                      const CLI::ParseError& e) {
  std::string what = e.what();
  // That a command is missing is said also when it is only misspelt.
  if (auto left = app.remaining(true);
      !left.empty() && dynamic_cast<const CLI::RequiredError*>(&e) != nullptr)
    what = "unexpected argument " + left.front();
  if (holds_secret(what))
    what =
        "an argument holds a token or credential; they are read from files "
        "and never given as arguments";
  report(ctx, fail(errc::invalid_input, what + "; see --help"), usage);
}

void report(context& ctx, const fault& f, int exit_code) {
  std::string code{wire_text(f.code)};
  auto where = f.path.empty() ? std::string{} : f.path + ": ";
  std::fprintf(stderr, "better-compute: %s: %s%s%s\n", code.c_str(),
               where.c_str(), f.message.c_str(), in_brackets(f.detail).c_str());
  ctx.exit_code = exit_code;
}

std::optional<json::document> call(context& ctx, std::string_view group,
                                   std::string_view method,
                                   const std::string& body) {
  auto credential = read_credential(ctx);
  if (!credential) {
    report(ctx, credential.error(), usage);
    return std::nullopt;
  }
  gateway::client_options options;
  options.url = ctx.url;
  options.ca_file = ctx.ca_file;
  auto answer = gateway::send_request(
      options, "POST",
      "/api/compute/" + std::string{group} + "/" + std::string{method},
      {{"authorization", "Bearer " + credential.value()},
       {"content-type", "application/json"}},
      body);
  if (!answer) {
    const auto& f = answer.error();
    report(ctx, f, f.code == errc::invalid_input ? usage : unreachable);
    return std::nullopt;
  }
  auto doc = json::parse_object(answer.value().body);
  if (!doc) {
    report(ctx, fail(errc::internal, "the server's answer is not JSON (HTTP " +
                                         std::to_string(answer.value().status) +
                                         "); is " + ctx.url + " the API?"));
    return std::nullopt;
  }
  if (answer.value().status != 200) {
    report(ctx, fault_of(answer.value().status, answer.value().body));
    return std::nullopt;
  }
  return std::move(doc).value();
}

column field_column(std::string title, std::string field) {
  return {std::move(title), [field](const json::value& row) -> std::string {
            auto it = row.FindMember(field.c_str());
            return it == row.MemberEnd() ? "-" : cell_text(it->value);
          }};
}

void show_list(const context& ctx, const json::document& answer,
               const std::vector<column>& columns) {
  if (ctx.json()) {
    std::cout << json::to_text(answer) << "\n";
    return;
  }
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& c : columns)
    rows[0].push_back(c.title);
  auto items = answer.FindMember("items");
  if (items != answer.MemberEnd() && items->value.IsArray())
    for (const auto& item : items->value.GetArray()) {
      rows.emplace_back();
      for (const auto& c : columns)
        rows.back().push_back(c.cell(item));
    }
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line.append(widths[i] - row[i].size() + 2, ' ');
    }
    std::cout << line << "\n";
  }
}

void show_record(const context& ctx, const json::value& record) {
  if (ctx.json()) {
    std::cout << json::to_text(record) << "\n";
    return;
  }
  std::size_t width = 0;
  for (const auto& m : record.GetObject())
    width = std::max<std::size_t>(width, m.name.GetStringLength());
  for (const auto& m : record.GetObject()) {
    std::string name{m.name.GetString(), m.name.GetStringLength()};
    std::cout << name << std::string(width - name.size() + 2, ' ')
              << cell_text(m.value) << "\n";
  }
}

std::optional<json::document> call_all_pages(
    context& ctx, std::string_view group, std::string_view method,
    const std::function<void(json::writer&)>& fields) {
  json::document all;
  all.SetObject();
  json::value items{rapidjson::kArrayType};
  std::string cursor;
  for (;;) {
    json::writer body;
    body.begin_object();
    fields(body);
    body.field("limit", 200);
    if (!cursor.empty())
      body.field("cursor", cursor);
    body.end_object();
    auto page = call(ctx, group, method, body.str());
    if (!page)
      return std::nullopt;
    auto found = page->FindMember("items");
    if (found == page->MemberEnd() || !found->value.IsArray()) {
      report(ctx, fail(errc::internal, "the server's answer has no items"));
      return std::nullopt;
    }
    for (const auto& item : found->value.GetArray())
      items.PushBack(json::value{item, all.GetAllocator()}, all.GetAllocator());
    auto next = page->FindMember("cursor");
    if (next == page->MemberEnd() || !next->value.IsString())
      break;
    cursor = next->value.GetString();
  }
  all.AddMember("items", items, all.GetAllocator());
  return all;
}

}  // namespace bc::cli
