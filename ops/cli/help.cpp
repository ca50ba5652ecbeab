#include "ops/cli/help.hpp"

#include "ops/cli/command_tree.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <sstream>

namespace bc::cli {

namespace {

constexpr std::size_t name_columns = 34;
constexpr std::size_t help_columns = 66;  // beside the names
constexpr const char* program = "  better-compute ";

// Lines of at most help_columns, where words allow it.
std::string wrapped(const std::string& text) {
  std::istringstream words{text};
  std::string out, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && width_of(line) + 1 + width_of(word) > help_columns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line;
}

class help_style : public CLI::Formatter {
 public:
  help_style() { column_width(name_columns); }

  std::string make_description(const CLI::App* app) const override {
    return app->get_description() + "\n";
  }

  // The library leaves two blank lines between groups.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(
        Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
  }

  std::string make_option_opts(const CLI::Option* o) const override {
    if (o->get_type_size() == 0)
      return {};
    const auto choices = choices_of(o->get_type_name());
    std::string out = " ";
    for (const auto& c : choices)
      out += (&c == &choices.front() ? "" : "|") + c;
    // A positional's name says what it is.
    if (choices.empty() && o->get_positional())
      return {};
    if (choices.empty())
      out += o->get_type_name();
    return o->get_expected_max() > 1 ? out + " ..." : out;
  }

  std::string make_option_desc(const CLI::Option* o) const override {
    auto out = o->get_description();
    if (!o->get_default_str().empty())
      out += " [" + o->get_default_str() + "]";
    if (!o->get_envname().empty())
      out += " ($" + o->get_envname() + ")";
    if (o->get_required() && !o->get_positional())
      out += " (required)";
    return wrapped(out);
  }
};

// The first example of a command, without the program's name.
std::string first_example(const CLI::App& command) {
  std::istringstream lines{command.get_footer()};
  const std::string begin{program};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty())
      out += "\n" + line;
    else if (line.starts_with(begin))
      out = line.substr(begin.size());
    if (!out.empty() && !out.ends_with('\\'))
      return out;
  }
  return out;
}

}  // namespace

void set_help_style(CLI::App& app) {
  app.formatter(std::make_shared<help_style>());
}

void collect_examples(CLI::App& app) {
  std::vector<std::string> lines;
  for (auto* c : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!c->get_subcommands([](CLI::App*) { return true; }).empty())
      collect_examples(*c);
    if (auto one = first_example(*c); !one.empty())
      lines.push_back(std::move(one));
  }
  if (!lines.empty())
    add_examples(app, lines);
}

}  // namespace bc::cli
