#include "ops/cli/completion.hpp"

namespace bc::cli {

namespace {

std::string name_in(const command_node& c) {
  return c.path.substr(c.path.rfind(' ') + 1);
}

// Inside single quotes of the shell, and with a backslash before what the
// completion system reads there.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (char c : text) {
    if (c == '\n') {
      out += ' ';
      continue;
    }
    if (special.find(c) != std::string_view::npos)
      out += '\\';
    out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  }
  return out;
}

std::string help_of(const std::string& text) {
  return quoted(text, "[]:\\");
}

std::string value_spec(const option_node& o) {
  std::string out = ":" + quoted(o.value_name, ":\\") + ":";
  if (o.takes_file())
    return out + "_files";
  if (o.choices.empty())
    return out + " ";
  out += "(";
  for (const auto& c : o.choices)
    out += (&c == &o.choices.front() ? "" : " ") + c;
  return out + ")";
}

void put_option(std::string& out, const option_node& o) {
  for (const auto& name : o.names) {
    out += "        '";
    if (o.repeats)
      out += "*";
    out += name;
    if (!o.value_name.empty() && name.starts_with("--"))
      out += "=";
    out += "[" + help_of(o.help) + "]";
    if (!o.value_name.empty())
      out += value_spec(o);
    out += "'\n";
  }
}

void put_command(std::string& out, const command_node& c) {
  out += "    '" + c.path + "')\n";
  out += "      commands=(\n";
  for (const auto& sub : c.commands)
    out += "        '" + name_in(sub) + ":" + quoted(sub.help, ":\\") + "'\n";
  out += "      )\n      options=(\n";
  for (const auto& o : c.options)
    put_option(out, o);
  for (const auto& p : c.positionals)
    out += "        '" + value_spec(p) + "'\n";
  out += "      ) ;;\n";
  for (const auto& sub : c.commands)
    put_command(out, sub);
}

constexpr const char* head =
    R"(#compdef better-compute
# zsh completion for better-compute; from: better-compute completion zsh

# What may follow the command $1: its subcommands and its options.
_better_compute_of() {
  commands=() options=()
  case $1 in
)";

// Words after the command are given to _arguments as if they were all.
constexpr const char* tail = R"(  esac
}

_better-compute() {
  local -a commands options
  local command_path='' word
  local -i i=2 last=1
  _better_compute_of ''
  while (( i < CURRENT )); do
    word=$words[i]
    if (( ${#commands} )) && [[ -n ${(M)commands:#$word:*} ]]; then
      command_path=${command_path:+$command_path }$word
      _better_compute_of "$command_path"
      last=i
    fi
    (( i++ ))
  done
  words=("${(@)words[last,-1]}")
  (( CURRENT -= last - 1 ))
  if (( ${#commands} )) && [[ $PREFIX != -* ]]; then
    _describe -t commands command commands
  else
    _arguments -S -s : $options
  fi
}

# Loaded by compinit this file is the function; sourced it registers it.
if [[ $funcstack[1] == _better-compute ]]; then
  _better-compute "$@"
else
  compdef _better-compute better-compute
fi
)";

}  // namespace

std::string zsh_completion(const command_node& program) {
  std::string out = head;
  put_command(out, program);
  return out + tail;
}

}  // namespace bc::cli
