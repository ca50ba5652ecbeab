#include "ops/serve/exposition.hpp"

#include <array>
#include <charconv>

namespace bc::serve {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

// By no locale (CASES 147).
std::string text_of(double value) {
  std::array<char, 32> digits{};
  auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

}  // namespace

exposition& exposition::family(std::string_view name, std::string_view help,
                               std::string_view kind) {
  family_ = name;
  out_.append("# HELP ").append(name).append(" ").append(help);
  out_.append("\n# TYPE ").append(name).append(" ").append(kind);
  out_.append("\n");
  return *this;
}

exposition& exposition::line(std::uint64_t value, labels of) {
  sample("", of, std::to_string(value));
  return *this;
}

exposition& exposition::gauge(std::string_view name, std::string_view help,
                              std::uint64_t value, labels of) {
  return family(name, help, "gauge").line(value, of);
}

exposition& exposition::put(std::string_view name, std::string_view help,
                            const histogram::counts& counts) {
  family(name, help, "histogram");
  for (std::size_t i = 0; i < counts.at_most.size(); ++i) {
    const auto bound =
        i < counts.bounds.size() ? text_of(counts.bounds[i]) : "+Inf";
    sample("_bucket", {{"le", bound}}, std::to_string(counts.at_most[i]));
  }
  sample("_sum", {}, text_of(counts.sum));
  sample("_count", {}, std::to_string(counts.at_most.back()));
  return *this;
}

void exposition::sample(std::string_view suffix, labels of,
                        std::string_view value) {
  out_.append(family_).append(suffix);
  char before = '{';
  for (const auto& [name, text] : of) {
    out_ += std::exchange(before, ',');
    out_.append(name).append("=\"").append(escaped(text)).append("\"");
  }
  if (before == ',')
    out_ += '}';
  out_.append(" ").append(value).append("\n");
}

}  // namespace bc::serve
