#include "ops/cli/context.hpp"

#include "ops/cli/display_text.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <sstream>
#include <string_view>

namespace bc::cli {

namespace {

// The bearer forms: bcjt_<id>.<secret> and bck_<id>.<secret>.
bool holds_secret(std::string_view text) {
  return text.find("bcjt_") != std::string_view::npos ||
         (text.find("bck_") != std::string_view::npos &&
          text.find('.') != std::string_view::npos);
}

// Databases answer in several lines.
std::string in_brackets(const std::string& detail) {
  std::istringstream words{detail};
  std::string out;
  for (std::string word; words >> word;)
    out += (out.empty() ? " (" : " ") + word;
  return out.empty() ? out : out + ")";
}

// Some faults list their problems, a line each.
std::string printable_lines(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    out += (out.empty() ? "" : "\n") + printable(line);
  return out;
}

}  // namespace

void report(context& ctx, const fault& f, int exit_code) {
  std::string code{wire_text(f.code)};
  auto where = f.path.empty() ? std::string{} : f.path + ": ";
  auto what =
      printable_lines(where + f.message) + printable(in_brackets(f.detail));
  std::fprintf(stderr, "better-compute: %s: %s\n", code.c_str(), what.c_str());
  ctx.exit_code = exit_code;
}

void warn(const std::string& message) {
  std::fprintf(stderr, "better-compute: %s\n", printable(message).c_str());
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

}  // namespace bc::cli
