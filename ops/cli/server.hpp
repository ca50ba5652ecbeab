#pragma once

#include "base/json.hpp"
#include "base/result.hpp"
#include "ops/cli/context.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// Calls of the API, as whoever the flags, the environment or a profile name.
namespace bc::cli {

/// Fills what flags and the environment left open from the profile, which
/// counts as a whole for its own URL: its credential goes nowhere else. False
/// when that failed, which was then reported: a profile that was asked for is
/// there, unless it may be new.
[[nodiscard]] bool settle(context& ctx, bool may_be_new = false);
/// The same, but with no URL at all where settle() takes the default one.
[[nodiscard]] bool settle_profile(context& ctx, bool may_be_new = false);
/// settle(), and a tenant is known.
[[nodiscard]] bool settle_tenant(context& ctx);

/// The caller's credential, from where add_server_options says.
[[nodiscard]] result<std::string> read_credential(const context& ctx);

/// True when that is the profile's.
[[nodiscard]] bool uses_kept_credential(const context& ctx);

/// The error that an answer other than 200 holds.
[[nodiscard]] fault fault_of(int status, const std::string& body);

/// Why a call failed, and the exit code that this has.
struct call_failure {
  fault why;
  int exit_code = refused;
};

/// One API call; nullopt when it failed, `failure` then says why. The position
/// that a mutation answers is kept in the profile, and reads wait for it.
[[nodiscard]] std::optional<json::document> try_call(context& ctx,
                                                     std::string_view group,
                                                     std::string_view method,
                                                     const std::string& body,
                                                     call_failure& failure);
/// The same; a failure was then reported.
[[nodiscard]] std::optional<json::document> call(context& ctx,
                                                 std::string_view group,
                                                 std::string_view method,
                                                 const std::string& body);

/// How many items of a list method are wanted, and after which.
struct pages {
  std::int64_t most = 0;  // 0: all
  std::string cursor;     // empty: from the first
};

/// Reads a list method's pages into one answer {"items":[…],"cursor":…}; the
/// cursor is there when there is more.
[[nodiscard]] std::optional<json::document> call_pages(
    context& ctx, std::string_view group, std::string_view method,
    const json::document& input, const pages& wanted);

}  // namespace bc::cli
