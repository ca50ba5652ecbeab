#include "ops/serve/options.hpp"

#include "ops/cli/duration.hpp"
#include "ops/cli/files.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace bc::serve {

namespace {

using problems = std::vector<std::string>;

// What is wrong with a value, or nothing: it is where it belongs.
using verdict = std::optional<std::string>;

verdict put_text(std::string& to, const option& o, std::string text) {
  if (text.empty())
    return "must not be empty; leave it out instead";
  if (text.find('\0') != std::string::npos)
    return "holds a zero byte";
  if (!o.choices.empty() &&
      std::find(o.choices.begin(), o.choices.end(), text) == o.choices.end()) {
    std::string all;
    for (const auto& c : o.choices)
      all += (all.empty() ? "" : ", ") + c;
    return "must be one of " + all;
  }
  to = std::move(text);
  return std::nullopt;
}

verdict put_number(std::int64_t& to, const option& o, std::int64_t number) {
  if (number < o.least || number > o.most)
    return "must be from " + std::to_string(o.least) + " to " +
           std::to_string(o.most);
  to = number;
  return std::nullopt;
}

verdict put_duration(seconds& to, const option& o, const std::string& text) {
  auto value = cli::parse_duration(text);
  if (!value)
    return value.error().message;
  if (value.value().count() < o.least || value.value().count() > o.most)
    return "must be from " + std::to_string(o.least) + "s to " +
           std::to_string(o.most) + "s";
  to = value.value();
  return std::nullopt;
}

verdict put_list(std::vector<std::string>& to, std::vector<std::string> items) {
  if (items.empty() || std::any_of(items.begin(), items.end(),
                                   [](const auto& i) { return i.empty(); }))
    return "must hold at least one text, none of them empty";
  to = std::move(items);
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream from{text};
  for (std::string item; std::getline(from, item, ',');)
    out.push_back(std::move(item));
  return out;
}

// A value that came as text: from the environment or a flag.
struct text_reader {
  const option& o;
  const std::string& text;

  verdict operator()(std::string* to) const { return put_text(*to, o, text); }
  verdict operator()(std::int64_t* to) const {
    std::int64_t number = 0;
    auto [end, bad] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (bad != std::errc{} || end != text.data() + text.size())
      return "must be a whole number";
    return put_number(*to, o, number);
  }
  verdict operator()(bool* to) const {
    if (text != "true" && text != "false")
      return "must be true or false";
    *to = text == "true";
    return std::nullopt;
  }
  verdict operator()(seconds* to) const { return put_duration(*to, o, text); }
  verdict operator()(std::vector<std::string>* to) const {
    return put_list(*to, split(text));
  }
  verdict operator()(std::map<std::string, std::string>*) const {
    return "can be set in the file alone";
  }
};

// A table's entries; `a.b = 1` and `"a.b" = 1` name the same.
verdict flatten(const toml::table& table, const std::string& prefix,
                std::map<std::string, std::string>& to) {
  for (const auto& [key, node] : table) {
    auto name = prefix + std::string{key.str()};
    if (const auto* inner = node.as_table()) {
      if (auto wrong = flatten(*inner, name + ".", to))
        return wrong;
    } else if (const auto* text = node.as_string()) {
      to[name] = text->get();
    } else if (const auto* number = node.as_integer()) {
      to[name] = std::to_string(number->get());
    } else if (const auto* flag = node.as_boolean()) {
      to[name] = flag->get() ? "true" : "false";
    } else {
      return name + " must be a text, a whole number, true or false";
    }
  }
  return std::nullopt;
}

// A value in the file.
struct toml_reader {
  const option& o;
  const toml::node& node;

  verdict operator()(std::string* to) const {
    const auto* text = node.as_string();
    return text == nullptr ? "must be a text in quotes"
                           : put_text(*to, o, text->get());
  }
  verdict operator()(std::int64_t* to) const {
    const auto* number = node.as_integer();
    return number == nullptr ? "must be a whole number"
                             : put_number(*to, o, number->get());
  }
  verdict operator()(bool* to) const {
    const auto* flag = node.as_boolean();
    if (flag == nullptr)
      return "must be true or false";
    *to = flag->get();
    return std::nullopt;
  }
  verdict operator()(seconds* to) const {
    const auto* text = node.as_string();
    return text == nullptr ? "must be a duration in quotes, for example \"1h\""
                           : put_duration(*to, o, text->get());
  }
  verdict operator()(std::vector<std::string>* to) const {
    const auto* array = node.as_array();
    if (array == nullptr)
      return "must be a list of texts, for example [\"a\", \"b\"]";
    std::vector<std::string> items;
    for (const auto& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr)
        return "must be a list of texts";
      items.push_back(text->get());
    }
    return put_list(*to, std::move(items));
  }
  verdict operator()(std::map<std::string, std::string>* to) const {
    const auto* table = node.as_table();
    return table == nullptr ? "must be a section" : flatten(*table, "", *to);
  }
};

class file_reader {
 public:
  file_reader(std::span<const option> options, const std::string& file,
              problems& found)
      : options_(options), file_(file), found_(found) {}

  void read() {
    // Not by toml++: it takes a folder for an empty file.
    auto text = cli::read_file(file_);
    if (!text) {
      found_.push_back(text.error().message);
      return;
    }
    // toml++ reports by exception; it stops here.
    try {
      walk(toml::parse(text.value(), file_), "");
    } catch (const toml::parse_error& e) {
      add(e.source(), std::string{e.description()});
    }
  }

 private:
  void walk(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      auto name = prefix + std::string{key.str()};
      if (const auto* known = find(name)) {
        toml_reader reader{*known, node};
        if (auto wrong = std::visit(reader, known->into))
          add(node.source(), name + " " + *wrong);
      } else if (!is_section(name)) {
        add(key.source(), "unknown key " + name);
      } else if (const auto* inner = node.as_table()) {
        walk(*inner, name + ".");
      } else {
        add(node.source(), name + " must be a section");
      }
    }
  }

  const option* find(const std::string& name) const {
    auto at = std::find_if(options_.begin(), options_.end(),
                           [&](const option& o) { return o.key == name; });
    return at == options_.end() ? nullptr : &*at;
  }

  bool is_section(const std::string& name) const {
    return std::any_of(options_.begin(), options_.end(), [&](const option& o) {
      return o.key.starts_with(name + ".");
    });
  }

  void add(const toml::source_region& where, const std::string& what) {
    auto line = where.begin.line;
    found_.push_back(file_ +
                     (line > 0 ? ":" + std::to_string(line) : std::string{}) +
                     ": " + what);
  }

  std::span<const option> options_;
  const std::string& file_;
  problems& found_;
};

}  // namespace

std::string flag_of(std::string_view key) {
  std::string out = "--";
  for (char c : key)
    out += c == '.' || c == '_' ? '-' : c;
  return out;
}

std::string variable_of(std::string_view key) {
  std::string out = "BETTER_COMPUTE_";
  for (char c : key)
    out += c == '.'               ? '_'
           : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32)
                                  : c;
  return out;
}

bool has_flag(const option& o) {
  return !std::holds_alternative<std::map<std::string, std::string>*>(o.into);
}

std::vector<given> from_environment(std::span<const option> options) {
  std::vector<given> out;
  for (const auto& o : options) {
    auto name = variable_of(o.key);
    const char* text = std::getenv(name.c_str());
    if (text != nullptr && has_flag(o))
      out.push_back({o.key, text, name});
  }
  return out;
}

result<void> no_problems(const std::vector<std::string>& found) {
  if (found.empty())
    return ok();
  std::string all;
  for (const auto& p : found)
    all += (all.empty() ? "" : "\n  ") + p;
  return fail(errc::invalid_config, all);
}

result<void> read_options(std::span<const option> options,
                          const std::string& file,
                          std::span<const given> over) {
  problems found;
  if (!file.empty())
    file_reader{options, file, found}.read();
  for (const auto& g : over) {
    auto at = std::find_if(options.begin(), options.end(),
                           [&](const option& o) { return o.key == g.key; });
    if (at == options.end()) {
      found.push_back(g.origin + ": unknown key " + g.key);
      continue;
    }
    text_reader reader{*at, g.text};
    if (auto wrong = std::visit(reader, at->into))
      found.push_back(g.origin + " " + *wrong);
  }
  return no_problems(found);
}

}  // namespace bc::serve
