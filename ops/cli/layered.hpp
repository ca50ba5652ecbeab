#pragma once

#include "ops/serve/options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bc::cli {

/// What a program is configured with, or the part of it that a command needs:
/// a file, the environment over it, flags over both. The other settings of the
/// file must be good too; those of the environment are not looked at.
class layered {
 public:
  using is_needed = std::function<bool(const serve::option&)>;

  /// The options point into a configuration that outlives this.
  explicit layered(
      std::vector<serve::option> options,
      is_needed needed = [](const serve::option&) { return true; });

  /// Adds --config (BETTER_COMPUTE_CONFIG).
  void add_file(CLI::App& c);
  /// Adds a flag for each setting that one text can hold.
  void add_flags(CLI::App& c);
  /// INVALID_CONFIG as serve::read_options.
  [[nodiscard]] result<void> read() const;

 private:
  std::string file_;
  std::vector<serve::option> all_, needed_;
  std::vector<std::string> given_;   // one for each needed option
  std::vector<CLI::Option*> flags_;  // the same; null: it has none
};

}  // namespace bc::cli
