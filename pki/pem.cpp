#include "pki/pem.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"

#include <string>

namespace bc::pki::pem {

namespace {

std::string line(std::string_view what, std::string_view label) {
  return "-----" + std::string{what} + " " + std::string{label} + "-----";
}

}  // namespace

secret_bytes encode(std::string_view label, byte_view der) {
  auto begin = line("BEGIN", label), end = line("END", label);
  auto base64 = to_base64(der);
  bytes out;
  // Room for all of it at once: a grown vector leaves a copy behind.
  out.reserve(begin.size() + end.size() + base64.size() + base64.size() / 64 +
              3);
  auto append = [&](std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
    out.push_back('\n');
  };
  append(begin);
  for (std::size_t at = 0; at < base64.size(); at += 64)
    append(std::string_view{base64}.substr(at, 64));
  append(end);
  wipe(base64.data(), base64.size());
  return secret_bytes{std::move(out)};
}

result<secret_bytes> decode(std::string_view label, std::string_view text) {
  auto bad = fail(errc::invalid_input,
                  "not one PEM block \"" + std::string{label} + "\"");
  auto begin = line("BEGIN", label), end = line("END", label);
  text = trimmed(text);
  if (text.size() < begin.size() + end.size() || !text.starts_with(begin) ||
      !text.ends_with(end))
    return bad;
  text.remove_prefix(begin.size());
  text.remove_suffix(end.size());
  if (!text.starts_with('\n') && !text.starts_with("\r\n"))
    return bad;
  std::string base64;
  base64.reserve(text.size());
  for (char c : text)
    if (c != '\n' && c != '\r')
      base64 += c;
  auto der = from_base64(base64);
  wipe(base64.data(), base64.size());
  if (!der || der.value().empty())
    return bad;
  return secret_bytes{std::move(der.value())};
}

}  // namespace bc::pki::pem
