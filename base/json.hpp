#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The only place that spells RapidJSON's parser and writer.
namespace bc::json {

using value = rapidjson::Value;
using document = rapidjson::Document;

inline constexpr int max_depth = 32;

/// Strict RFC 8259: valid UTF-8, at most 32 levels, no key twice in one
/// object, no NUL in a string, nothing after the value. Else INVALID_INPUT
/// with the byte offset in the message.
[[nodiscard]] result<document> parse(std::string_view text);

/// parse(), and the value must be an object.
[[nodiscard]] result<document> parse_object(std::string_view text);

/// parse_object() of a text that is read and forgotten: the values live in this
/// object, those of a small text without a call of malloc for each.
class brief_object {
 public:
  explicit brief_object(std::string_view text);
  brief_object(const brief_object&) = delete;
  brief_object& operator=(const brief_object&) = delete;

  [[nodiscard]] const result<void>& outcome() const noexcept {
    return outcome_;
  }
  /// With an outcome that is good.
  [[nodiscard]] const value& get() const noexcept { return doc_; }

 private:
  alignas(std::max_align_t) char memory_[2048];
  document::AllocatorType pool_;
  document doc_;
  result<void> outcome_;
};

/// Reads fields of one object; every fault is INVALID_INPUT with `path` set
/// ("/claims/macs/0"). Integers are JSON numbers without fraction or exponent.
class reader {
 public:
  explicit reader(const value& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] result<std::string> text(std::string_view name) const;
  /// text(), in the document's own memory.
  [[nodiscard]] result<std::string_view> text_view(std::string_view name) const;
  [[nodiscard]] result<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] result<bool> boolean(std::string_view name) const;
  /// Base64 (RFC 4648 section 4, padded) in a string.
  [[nodiscard]] result<bytes> base64(std::string_view name) const;
  [[nodiscard]] result<reader> object(std::string_view name) const;
  [[nodiscard]] result<std::vector<std::string>> texts(
      std::string_view name) const;
  /// nullopt when absent (null counts as present, and as wrong).
  [[nodiscard]] result<std::optional<std::string>> optional_text(
      std::string_view name) const;
  [[nodiscard]] result<std::optional<std::int64_t>> optional_integer(
      std::string_view name) const;
  [[nodiscard]] result<bool> boolean_or(std::string_view name,
                                        bool fallback) const;
  /// Empty when absent.
  [[nodiscard]] result<std::vector<std::string>> texts_or_none(
      std::string_view name) const;
  [[nodiscard]] const value& raw() const noexcept { return object_; }
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path_ + "/" + std::string{name};
  }

 private:
  [[nodiscard]] result<const value*> find(std::string_view name) const;
  const value& object_;
  std::string path_;
};

/// Writes compact JSON in the order of the calls; the caller keeps the nesting
/// right. field() skips an empty optional.
class writer {
 public:
  writer() : out_(buffer_) {}
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  writer& begin_object() {
    out_.StartObject();
    return *this;
  }
  writer& end_object() {
    out_.EndObject();
    return *this;
  }
  writer& begin_array() {
    out_.StartArray();
    return *this;
  }
  writer& end_array() {
    out_.EndArray();
    return *this;
  }
  writer& key(std::string_view name) {
    out_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    return *this;
  }
  writer& text(std::string_view v) {
    out_.String(v.data(), static_cast<rapidjson::SizeType>(v.size()));
    return *this;
  }
  writer& integer(std::int64_t v) {
    out_.Int64(v);
    return *this;
  }
  writer& boolean(bool v) {
    out_.Bool(v);
    return *this;
  }
  writer& null() {
    out_.Null();
    return *this;
  }
  /// Copies an already valid JSON text in.
  writer& raw(std::string_view json) {
    out_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
    return *this;
  }
  writer& raw_value(const value& v) {
    v.Accept(out_);
    return *this;
  }

  writer& field(std::string_view name, std::string_view v) {
    return key(name).text(v);
  }
  writer& field(std::string_view name, const char* v) {
    return key(name).text(v);
  }
  template <std::same_as<bool> B>
  writer& field(std::string_view name, B v) {
    return key(name).boolean(v);
  }
  template <std::integral I>
  requires(!std::same_as<I, bool>) writer& field(std::string_view name, I v) {
    return key(name).integer(static_cast<std::int64_t>(v));
  }
  writer& field(std::string_view name, const std::vector<std::string>& v) {
    key(name).begin_array();
    for (const auto& item : v)
      text(item);
    return end_array();
  }
  template <class T>
  writer& field(std::string_view name, const std::optional<T>& v) {
    return v ? field(name, *v) : *this;
  }

  [[nodiscard]] std::string str() const {
    return {buffer_.GetString(), buffer_.GetSize()};
  }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> out_;
};

/// Compact JSON text of a value.
[[nodiscard]] std::string to_text(const value& v);

}  // namespace bc::json
