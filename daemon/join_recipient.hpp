#pragma once

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "daemon/join.hpp"
#include "pki/key.hpp"

#include <functional>
#include <optional>
#include <string>

namespace bc::daemon {

/// The key that a token is sealed to, or how the join ends without one.
struct recipient {
  std::optional<pki::public_key> key;
  join_exit code = join_exit::usage;
  std::string message = {};
};

/// The key in the file beside the configuration; where there is none, what
/// `fetch` (may be empty) answers. Either must have the configured pin
/// (spec: joining#the-join-key-and-its-fallback).
[[nodiscard]] recipient join_recipient(
    const config& c, const std::function<result<pki::public_key>()>& fetch);

}  // namespace bc::daemon
