#include "pki/release.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/signature.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

constexpr std::string_view product = "bcd";
constexpr std::string_view system_name = "linux";
constexpr std::size_t max_version = 64;

fault bad(std::string why) {
  return fail(errc::invalid_input, "the release manifest " + std::move(why));
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

result<void> check(const release& r) {
  if (!is_release_version(r.version))
    return bad("names no version that can be a part of a path");
  if (r.files.empty())
    return bad("holds no file");
  for (const auto& f : r.files) {
    if (!is_release_arch(f.arch))
      return bad("names an architecture other than amd64 and arm64");
    if (f.size < 1)
      return bad("holds an empty file");
    if (std::count_if(r.files.begin(), r.files.end(), [&](const auto& other) {
          return other.arch == f.arch;
        }) > 1)
      return bad("names " + f.arch + " twice");
  }
  return ok();
}

std::string body_of(const release& r) {
  json::writer out;
  out.begin_object()
      .field("product", product)
      .field("version", r.version)
      .field("createdAt", r.created_at);
  out.key("files").begin_array();
  for (const auto& f : r.files)
    out.begin_object()
        .field("os", system_name)
        .field("arch", f.arch)
        .field("sha256", to_hex(f.sha256))
        .field("size", f.size)
        .end_object();
  out.end_array().end_object();
  return out.str();
}

result<release_file> file_of(const json::reader& from) {
  BC_TRY(os, from.text("os"));
  BC_TRY(arch, from.text("arch"));
  BC_TRY(hex, from.text("sha256"));
  BC_TRY(size, from.integer("size"));
  if (os != system_name)
    return bad("holds a file for another system than linux");
  BC_TRY(digest, from_hex(hex));
  release_file out;
  if (digest.size() != out.sha256.size())
    return bad("holds a digest that is no SHA-256");
  std::copy(digest.begin(), digest.end(), out.sha256.begin());
  out.arch = arch;
  out.size = size;
  return out;
}

result<release> release_of(byte_view body) {
  BC_TRY(doc, json::parse_object(as_text(body)));
  json::reader from{doc};
  BC_TRY(name, from.text("product"));
  if (name != product)
    return bad("is of another product");
  release out;
  BC_TRY(version, from.text("version"));
  BC_TRY(created_at, from.text("createdAt"));
  out.version = version;
  out.created_at = created_at;
  if (!from.has("files") || !from.raw()["files"].IsArray())
    return bad("has no list of files");
  for (const auto& item : from.raw()["files"].GetArray()) {
    if (!item.IsObject())
      return bad("has an entry that is no file");
    BC_TRY(file, file_of(json::reader{item, "/files"}));
    out.files.push_back(file);
  }
  BC_TRYV(check(out));
  return out;
}

}  // namespace

bool is_release_version(std::string_view text) {
  return !text.empty() && text.size() <= max_version &&
         is_letter_or_digit(text.front()) &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '.' || c == '+' || c == '-' ||
                  c == '_';
         });
}

bool is_release_arch(std::string_view text) {
  return text == "amd64" || text == "arm64";
}

result<std::string> sign_release(const private_key& key, const release& r) {
  BC_TRYV(check(r));
  auto body = body_of(r);
  auto signature = sign(key, purpose::release, {as_bytes(body)});
  json::writer out;
  out.begin_object()
      .field("body", to_base64(as_bytes(body)))
      .field("signingKey", to_base64(key.pub().spki()))
      .field("sig", to_base64(signature))
      .end_object();
  return out.str();
}

result<release> open_release(std::string_view manifest,
                             const std::vector<std::string>& pins) {
  if (manifest.size() > max_release_manifest)
    return bad("is over 64 KiB");
  BC_TRY(doc, json::parse_object(manifest));
  json::reader from{doc};
  BC_TRY(body, from.base64("body"));
  BC_TRY(spki, from.base64("signingKey"));
  BC_TRY(signature, from.base64("sig"));
  BC_TRY(key, public_key::from_spki(spki));
  if (std::find(pins.begin(), pins.end(), key.pin()) == pins.end())
    return fail(errc::access_denied, "the release manifest is signed by " +
                                         key.pin() +
                                         ", which is none of the pins given");
  // Nothing of the body is read before this.
  if (!verify(key, purpose::release, {body}, signature))
    return fail(errc::access_denied,
                "the signature of the release manifest does not verify");
  return release_of(body);
}

}  // namespace bc::pki
