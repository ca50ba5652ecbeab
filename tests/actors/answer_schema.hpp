#pragma once

// As in actors/api/schema_check.cpp: std::regex, in every file of a program.
#define RAPIDJSON_SCHEMA_USE_INTERNALREGEX 0

#include "base/errc.hpp"
#include "base/json.hpp"
#include "schema/embedded.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/schema.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Answers held against schema/api/answers/. What the schemas leave open for
/// later releases is closed here: a field that no schema names is a fault.
namespace bc::api_test {

class answer_schema {
 public:
  /// Of a file under schema/; nullptr when there is none.
  static const answer_schema* of(const std::string& file);

  answer_schema(const std::string& file, std::string_view text);

  /// The place and the rule that a text breaks; empty when it fits.
  [[nodiscard]] std::string fault_of(const std::string& answer) const;

  /// Codes beside those that any method may answer.
  [[nodiscard]] const std::vector<std::string>& errors() const;

 private:
  using memory = json::document::AllocatorType;

  // In one object and without references, so that it can be closed.
  json::value flat(const json::value& v, const std::string& file);

  json::value referred(std::string_view ref, const std::string& file);

  static std::string beside(const std::string& file, std::string_view path);

  static bool is_record(const json::value& v);

  void merge(json::value& into, json::value part);

  json::document flat_;
  std::vector<std::string> errors_;
  std::optional<rapidjson::SchemaDocument> compiled_;
};

/// A code any method may answer.
bool is_common(errc code);

/// Fails when the answer of a method ("sites.create") is not as its schema has
/// it: every field, the status, and which errors it may be.
void check_answer(const std::string& method, int status,
                  const std::string& text);

}  // namespace bc::api_test
