#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::cli {

/// A text file read line by line, however large; a line is bounded.
class line_file {
 public:
  /// NOT_FOUND or INVALID_CONFIG.
  [[nodiscard]] static result<line_file> open(const std::string& path,
                                              std::size_t max_line);

  /// The next line without its line feed, which lives until the next call;
  /// nullopt at the end. INVALID_INPUT for a line that is too long.
  [[nodiscard]] result<std::optional<std::string_view>> next();

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  line_file(std::string path, std::FILE* f, std::size_t max_line)
      : path_(std::move(path)), file_(f), max_line_(max_line) {}

  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
  std::size_t max_line_;
  std::size_t number_ = 0;
  std::string line_;
};

}  // namespace bc::cli
