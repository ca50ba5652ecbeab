#include "base/ids.hpp"
#include "base/text.hpp"
#include "ops/cli/join_requests.hpp"
#include "ops/cli/line_file.hpp"

#include <algorithm>
#include <set>

namespace bc::cli {

namespace {

constexpr std::string_view prefix = join_request_tag::prefix;
constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t max_line = 400;
constexpr std::size_t max_requests = 10'000;

constexpr std::size_t whole_csr_digits = 64;

}  // namespace

bool names_csr(std::string_view text) {
  return text.size() >= shown_csr_digits && text.size() <= whole_csr_digits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_whole_csr(std::string_view text) {
  return text.size() == whole_csr_digits && names_csr(text);
}

std::string cursor_before(std::string_view id) {
  std::string out{id};
  for (auto at = out.size(); at > prefix.size(); --at) {
    auto& c = out[at - 1];
    if (c == alphabet.front()) {
      c = alphabet.back();
      continue;
    }
    c = alphabet[alphabet.find(c) - 1];
    return out;
  }
  return {};
}

result<std::optional<chosen_request>> read_chosen(std::string_view line) {
  auto text = trimmed(line);
  if (text.empty() || text.front() == '#')
    return std::optional<chosen_request>{};
  auto end = text.find_first_of(" \t");
  chosen_request out{std::string{text.substr(0, end)}, {}};
  if (end != text.npos)
    out.csr_sha256 = trimmed(text.substr(end));
  if (!join_request_id::parse(out.id))
    return fail(errc::invalid_input, "is no id of a join request (jreq_…)");
  if (!out.csr_sha256.empty() && !names_csr(out.csr_sha256))
    return fail(errc::invalid_input,
                "has more than an id and the SHA-256 of a certificate request");
  return std::optional{std::move(out)};
}

result<std::vector<chosen_request>> read_chosen_file(const std::string& path) {
  BC_TRY(file, line_file::open(path, max_line));
  std::vector<chosen_request> out;
  std::set<std::string> seen;
  for (std::size_t number = 1;; ++number) {
    BC_TRY(line, file.next());
    if (!line)
      break;
    auto one = read_chosen(*line);
    if (!one)
      return fail(
          errc::invalid_input,
          path + " line " + std::to_string(number) + " " + one.error().message);
    if (one.value() && seen.insert(one.value()->id).second)
      out.push_back(*one.value());
    if (out.size() > max_requests)
      return fail(errc::invalid_input, path + " has more than 10000 ids");
  }
  if (out.empty())
    return fail(errc::invalid_input, path + " names no join request");
  return out;
}

}  // namespace bc::cli
