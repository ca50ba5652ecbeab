#include "ops/cli/command_tree.hpp"

#include <CLI/CLI.hpp>

namespace bc::cli {

namespace {

option_node node_of(const CLI::Option& o) {
  option_node out;
  for (const auto& name : o.get_snames())
    out.names.push_back("-" + name);
  for (const auto& name : o.get_lnames())
    out.names.push_back("--" + name);
  out.help = o.get_description();
  out.repeats = o.get_items_expected_max() > 1;
  if (o.get_items_expected_max() == 0)
    return out;
  const auto type = o.get_type_name();
  out.value_name = type.substr(0, type.find(':'));
  if (out.value_name.empty())
    out.value_name = "TEXT";
  out.choices = choices_of(type);
  return out;
}

command_node node_of(const CLI::App& app, const std::string& path) {
  command_node out;
  out.path = path;
  out.help = app.get_description();
  for (const auto* o : app.get_options())
    (o->get_positional() ? out.positionals : out.options)
        .push_back(node_of(*o));
  for (const auto* c :
       app.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(
        node_of(*c, path.empty() ? c->get_name() : path + " " + c->get_name()));
  return out;
}

}  // namespace

// The library's checks say what they take in braces: "TEXT:{table,json}".
std::vector<std::string> choices_of(const std::string& type_name) {
  const auto begin = type_name.find('{');
  const auto end = type_name.rfind('}');
  std::vector<std::string> out;
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return out;
  std::string one;
  for (char c : type_name.substr(begin + 1, end - begin - 1)) {
    if (c != ',') {
      one += c;
      continue;
    }
    out.push_back(one);
    one.clear();
  }
  out.push_back(one);
  return out;
}

command_node command_tree(const CLI::App& app) {
  return node_of(app, "");
}

}  // namespace bc::cli
