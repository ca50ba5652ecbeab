#include "ops/cli/completion.hpp"

namespace bc::cli {

namespace {

std::string name_in(const command_node& c) {
  return c.path.substr(c.path.rfind(' ') + 1);
}

std::string words(const command_node& c) {
  std::string out;
  for (const auto& sub : c.commands)
    out += (out.empty() ? "" : " ") + name_in(sub);
  for (const auto& p : c.positionals)
    for (const auto& choice : p.choices)
      out += (out.empty() ? "" : " ") + choice;
  return out;
}

std::string option_names(const command_node& c, bool that_take_a_value) {
  std::string out;
  for (const auto& o : c.options)
    if (!that_take_a_value || !o.value_name.empty())
      for (const auto& name : o.names)
        out += (out.empty() ? "" : " ") + name;
  return out;
}

void put_commands(std::string& out, const command_node& c) {
  out += "    '" + c.path + "')\n      words='" + words(c) +
         "'\n      options='" + option_names(c, false) + "'\n      valued='" +
         option_names(c, true) + "' ;;\n";
  for (const auto& sub : c.commands)
    put_commands(out, sub);
}

void put_values(std::string& out, const command_node& c) {
  for (const auto& o : c.options) {
    if (o.choices.empty() && !o.takes_file())
      continue;
    for (const auto& name : o.names) {
      out += "    '" + c.path + " " + name + "') ";
      if (o.takes_file()) {
        out += "files=1 ;;\n";
        continue;
      }
      out += "words='";
      for (const auto& choice : o.choices)
        out += (&choice == &o.choices.front() ? "" : " ") + choice;
      out += "' ;;\n";
    }
  }
  for (const auto& sub : c.commands)
    put_values(out, sub);
}

constexpr const char* head =
    R"(# bash completion for better-compute; from: better-compute completion bash

# What may follow the command $1: its subcommands, its options, and those of
# them that take a value.
_better_compute_of() {
  words='' options='' valued=''
  case $1 in
)";

constexpr const char* between = R"(  esac
}

# What the value of "COMMAND --option" may be.
_better_compute_value_of() {
  words='' files=''
  case $1 in
)";

// Readline splits words at "=", so --output=j is three of them.
constexpr const char* tail = R"(  esac
}

_better_compute() {
  local cur=${COMP_WORDS[COMP_CWORD]} path='' option='' i word
  local words options valued files=''
  COMPREPLY=()
  _better_compute_of ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      [[ $word == '=' ]] || option=''
    elif [[ $word == -* ]]; then
      [[ " $valued " != *" $word "* ]] || option=$word
    elif [[ " $words " == *" $word "* ]]; then
      path=${path:+$path }$word
      _better_compute_of "$path"
    fi
  done
  [[ $cur != '=' ]] || cur=''
  if [[ -n $option ]]; then
    _better_compute_value_of "$path $option"
  elif [[ $cur == -* ]]; then
    words=$options
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}

complete -F _better_compute better-compute
)";

}  // namespace

std::string bash_completion(const command_node& program) {
  std::string out = head;
  put_commands(out, program);
  out += between;
  put_values(out, program);
  return out + tail;
}

}  // namespace bc::cli
