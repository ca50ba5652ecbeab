#pragma once

#include "gateway/http_server.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::gateway {

/// A request's head as it was parsed, before anybody believes it.
struct request_head {
  struct line {
    std::string_view name;
    std::string_view value;
  };
  unsigned version = 11;
  std::string_view method;
  std::string_view target;
  std::vector<line> lines;
};

struct head_fault {
  int status;
  std::string message;
};

/// Fills method, path, query and headers; or says why the request is refused:
/// a length two servers could read differently (CASES 138), a Host that is
/// not one (RFC 9112 section 3.2), a method not served, a target that is no
/// path.
[[nodiscard]] std::optional<head_fault> take_head(const request_head& head,
                                                  http_request& out);

/// True when the client waits for 100 Continue before it sends the body.
[[nodiscard]] bool waits_for_continue(const request_head& head);

}  // namespace bc::gateway
