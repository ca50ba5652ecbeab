#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct pg_result;

/// What a statement is called with, and what it answers.
namespace bc::postgres {

/// One argument: a text, a number, NULL, or an array (text_array,
/// number_array), which one statement takes as a set of rows (unnest).
class argument {
 public:
  argument() = default;  // NULL
  argument(std::string_view text) : bytes_(text), null_(false) {}
  argument(std::string text) : bytes_(std::move(text)), null_(false) {}
  argument(std::int64_t number)
      : bytes_(std::to_string(number)), null_(false) {}
  [[nodiscard]] static argument of_binary(std::string bytes);

  [[nodiscard]] bool is_null() const { return null_; }
  [[nodiscard]] bool is_binary() const { return binary_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  bool null_ = true;
  bool binary_ = false;
};

/// An array in the server's binary form, made value by value.
class array {
 public:
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  void add_null();
  [[nodiscard]] argument take();

 protected:
  explicit array(std::uint32_t element_type) : element_type_(element_type) {}
  void put(std::uint32_t n);
  void put(std::string_view bytes);
  void count() { ++count_; }

 private:
  std::uint32_t element_type_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string values_;
};

class text_array : public array {
 public:
  text_array();
  void add(std::string_view text);
};

class number_array : public array {
 public:
  number_array();
  void add(std::int64_t number);
};

/// One statement of a round trip; parameters are `$1`, `$2`, … (or as in
/// sql.hpp). The text must live as long as the program.
struct call {
  std::string_view sql;
  std::vector<argument> arguments = {};
};

/// A statement's answer.
class rows {
 public:
  explicit rows(pg_result* r);
  [[nodiscard]] int count() const;
  [[nodiscard]] bool is_null(int row, int column) const;
  /// Valid while the answer is.
  [[nodiscard]] std::string_view text(int row, int column) const;
  /// 0 for NULL; a boolean is 0 or 1.
  [[nodiscard]] std::int64_t number(int row, int column) const;
  /// Rows an insert, update or delete changed.
  [[nodiscard]] std::int64_t changed() const;

 private:
  struct deleter {
    void operator()(pg_result* r) const;
  };
  std::unique_ptr<pg_result, deleter> result_;
};

}  // namespace bc::postgres
