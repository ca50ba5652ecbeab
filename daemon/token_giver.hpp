#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/token_file.hpp"

#include <optional>
#include <string>

namespace bc::daemon {

/// Where the join token comes from, and what becomes of its file.
class token_giver {
 public:
  /// Empty: the environment or standard input.
  explicit token_giver(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] result<secret_bytes> operator()();
  /// The token is spent: its file goes.
  void joined();

 private:
  std::string file_;
  std::optional<token_in_file> read_;
};

}  // namespace bc::daemon
