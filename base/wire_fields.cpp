#include "base/wire_fields.hpp"

#include "base/encoding.hpp"
#include "base/wire.hpp"

#include <utility>

namespace bc::wire::detail {

namespace {

constexpr std::size_t max_csr = 4096;
constexpr std::size_t max_certificate = 4096;

}  // namespace

fault invalid(std::string message, std::string path) {
  return fail(errc::invalid_input, std::move(message), std::move(path));
}

result<json::document> parse_body(std::string_view body) {
  if (body.size() > max_body)
    return invalid("the body is larger than 64 KiB", "");
  return json::parse_object(body);
}

result<std::string> bounded(const json::reader& from, std::string_view name,
                            std::size_t limit) {
  BC_TRY(v, from.optional_text(name));
  if (v && v->size() > limit)
    return invalid("is longer than " + std::to_string(limit) + " bytes",
                   from.path_of(name));
  return v.value_or("");
}

result<void> check_protocol(const json::reader& from) {
  BC_TRY(version, from.integer("protocol"));
  if (version != protocol_version)
    return invalid("is not a protocol version this server speaks (1)",
                   "/protocol");
  return ok();
}

result<bytes> csr_of(const json::reader& from) {
  BC_TRY(csr, from.base64("csr"));
  if (csr.empty() || csr.size() > max_csr)
    return invalid("must be 1 to 4096 bytes", "/csr");
  return std::move(csr);
}

result<std::vector<bytes>> base64_list(const json::reader& from,
                                       std::string_view name) {
  BC_TRY(texts, from.texts(name));
  std::vector<bytes> out;
  for (const auto& text : texts) {
    auto item = from_base64(text);
    if (!item)
      return invalid("must be base64", from.path_of(name));
    out.push_back(std::move(item).value());
  }
  return out;
}

result<bytes> sized(const json::reader& from, std::string_view name,
                    std::size_t size) {
  BC_TRY(data, from.base64(name));
  if (data.size() != size)
    return invalid("must be " + std::to_string(size) + " bytes",
                   from.path_of(name));
  return std::move(data);
}

result<bytes> at_most(const json::reader& from, std::string_view name,
                      std::size_t limit) {
  BC_TRY(data, from.base64(name));
  if (data.empty() || data.size() > limit)
    return invalid("must be 1 to " + std::to_string(limit) + " bytes",
                   from.path_of(name));
  return std::move(data);
}

result<bytes> at_most_or_none(const json::reader& from, std::string_view name,
                              std::size_t limit) {
  return from.has(name) ? at_most(from, name, limit) : result<bytes>{bytes{}};
}

result<std::vector<bytes>> certificates_of(const json::reader& from,
                                           std::string_view name,
                                           std::size_t most) {
  BC_TRY(texts, from.texts(name));
  if (texts.empty() || texts.size() > most)
    return invalid("must have 1 to " + std::to_string(most) + " members",
                   from.path_of(name));
  BC_TRY(all, base64_list(from, name));
  for (const auto& certificate : all)
    if (certificate.empty() || certificate.size() > max_certificate)
      return invalid("has a member that is not of 1 to 4096 bytes",
                     from.path_of(name));
  return std::move(all);
}

void put_base64(json::writer& out, std::string_view name, byte_view data) {
  out.field(name, to_base64(data));
}

void put_base64_list(json::writer& out, std::string_view name,
                     const std::vector<bytes>& items) {
  std::vector<std::string> texts;
  for (const auto& item : items)
    texts.push_back(to_base64(item));
  out.field(name, texts);
}

}  // namespace bc::wire::detail
