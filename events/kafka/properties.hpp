#pragma once

#include "base/result.hpp"

#include <functional>
#include <map>
#include <string>

namespace bc::events::kafka {

/// librdkafka's properties by name: `bootstrap.servers`, `security.protocol`…
using properties = std::map<std::string, std::string>;

/// Asked now and then by what waits for Kafka; false: give up.
using keep_going = std::function<bool()>;

/// INVALID_CONFIG for a property on which the promise to subscribers rests
/// (`acks`, `transactional.id`, `isolation.level`…), and when
/// `bootstrap.servers` is missing.
[[nodiscard]] result<void> check_properties(const properties& given);

/// Reads `name = value` lines; `#` starts a comment line. The file may hold
/// passwords: INVALID_CONFIG unless it is the caller's (mode 0600) or root's
/// (0640 at most, for the group of a service).
[[nodiscard]] result<properties> read_properties(const std::string& path);

}  // namespace bc::events::kafka
