#pragma once

#include <string_view>
#include <vector>

namespace bc::actors::api {

/// A method as the table of api.cpp has it, for documents and tests.
struct method_info {
  std::string_view group;
  std::string_view name;
  std::string_view action;         // what its caller must be granted
  std::string_view resource_kind;  // "compute-pool/"
  std::string_view field;  // of the input, naming the resource; empty: any
  bool root_only = false;
  bool reads = false;  // changes nothing, and answers no position
};

/// Every method, group by group.
[[nodiscard]] std::vector<method_info> method_table();

}  // namespace bc::actors::api
