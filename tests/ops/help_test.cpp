// spec: DESIGN section 11: every command says how it is used.
#include "ops/cli/command_tree.hpp"
#include "ops/cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>

#include <functional>
#include <sstream>

using namespace bc;

namespace {

struct program {
  cli::context ctx;
  CLI::App app{"", "better-compute"};
  program() {
    app.require_subcommand(1);
    cli::add_commands(app, ctx);
  }
};

void walk(CLI::App& app, const std::string& path,
          const std::function<void(CLI::App&, const std::string&)>& each) {
  each(app, path);
  for (auto* c : app.get_subcommands([](CLI::App*) { return true; }))
    walk(*c, path.empty() ? c->get_name() : path + " " + c->get_name(), each);
}

// The examples of a help text, lines that go on joined.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> out;
  std::istringstream lines{help};
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (goes_on)
      out.back() += " " + line;
    else if (line.starts_with("  better-compute "))
      out.push_back(line.substr(2));
    else
      continue;
    goes_on = out.back().ends_with('\\');
    if (goes_on)
      out.back().pop_back();
  }
  return out;
}

// The command that an example calls, and its words after that.
CLI::App* called(CLI::App& app, std::istringstream& words) {
  auto* at = &app;
  while (true) {
    const auto before = words.tellg();
    std::string word;
    if (!(words >> word))
      return at;
    const auto below =
        at->get_subcommands([&](CLI::App* c) { return c->get_name() == word; });
    if (below.empty()) {
      words.seekg(before);
      return at;
    }
    at = below.front();
  }
}

}  // namespace

TEST_CASE("help: every command has an example of itself", "[ops][help]") {
  program p;
  walk(p.app, "", [](CLI::App& app, const std::string& path) {
    CAPTURE(path);
    auto found = examples_in(app.help());
    CHECK_FALSE(found.empty());
    for (const auto& e : found)
      CHECK(e.starts_with("better-compute " + path));
    CHECK_FALSE((path.empty() ? "-" : app.get_description()).empty());
  });
}

TEST_CASE(
    "help: examples name options that are there, and none that is needed "
    "is missing",
    "[ops][help]") {
  program p;
  walk(p.app, "", [&](CLI::App& app, const std::string& path) {
    CAPTURE(path);
    for (const auto& example : examples_in(app.help())) {
      CAPTURE(example);
      // Nothing in it stands for something else.
      CHECK(example.find("…") == std::string::npos);
      std::istringstream words{
          example.substr(std::string{"better-compute"}.size())};
      auto* command = called(p.app, words);
      REQUIRE(command->get_subcommands([](CLI::App*) { return true; }).empty());
      std::string rest;
      for (std::string word; words >> word;) {
        if (word == ">" || word == ">>" || word == "<")
          break;
        rest += " " + word + " ";
        if (word.starts_with("--"))
          CHECK(command->get_option_no_throw(word.substr(0, word.find('='))) !=
                nullptr);
      }
      for (const auto* o : command->get_options())
        if (o->get_required() && o->nonpositional() && o->get_envname().empty())
          CHECK(rest.find(" " + o->get_name() + " ") != std::string::npos);
    }
  });
}

TEST_CASE("help: the tree that completes is the parser's", "[ops][help]") {
  program p;
  auto tree = cli::command_tree(p.app);
  auto find = [](const cli::command_node& c, const std::string& path) {
    for (const auto& sub : c.commands)
      if (sub.path == path)
        return &sub;
    return static_cast<const cli::command_node*>(nullptr);
  };
  const auto* nodes = find(tree, "nodes");
  REQUIRE(nodes);
  const auto* list = find(*nodes, "nodes list");
  REQUIRE(list);
  std::map<std::string, cli::option_node> options;
  for (const auto& o : list->options)
    for (const auto& name : o.names)
      options[name] = o;
  CHECK(options.at("--output").choices ==
        std::vector<std::string>{"table", "json"});
  CHECK(options.at("--status").choices.size() == 4);
  CHECK(options.at("--ca-file").takes_file());
  CHECK(options.at("--utc").value_name.empty());
  CHECK(cli::choices_of("TEXT") == std::vector<std::string>{});
}
