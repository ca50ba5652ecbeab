#pragma once

#include "base/histogram.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace bc::serve {

/// Writes Prometheus' text format 0.0.4, one family after the other.
class exposition {
 public:
  using labels =
      std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Begins a family; `kind` is "gauge", "counter" or "histogram". Its lines
  /// follow.
  exposition& family(std::string_view name, std::string_view help,
                     std::string_view kind);
  /// A line of the family begun last. Label values may hold anything.
  exposition& line(std::uint64_t value, labels of = {});

  /// A whole family of one line.
  exposition& gauge(std::string_view name, std::string_view help,
                    std::uint64_t value, labels of = {});
  exposition& put(std::string_view name, std::string_view help,
                  const histogram::counts& counts);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void sample(std::string_view suffix, labels of, std::string_view value);

  std::string family_;
  std::string out_;
};

}  // namespace bc::serve
