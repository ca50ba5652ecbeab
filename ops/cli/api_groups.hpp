#pragma once

#include "ops/cli/api_command.hpp"

#include <vector>

/// Every method of the API as a command; only `events` has commands of its own
/// making.
namespace bc::cli {

[[nodiscard]] api_group tenants_group();
[[nodiscard]] api_group sites_group();
[[nodiscard]] api_group pools_group();
[[nodiscard]] api_group credentials_group();
[[nodiscard]] api_group join_tokens_group();
[[nodiscard]] api_group site_tokens_group();
[[nodiscard]] api_group join_requests_group();
[[nodiscard]] api_group joins_group();
[[nodiscard]] api_group nodes_group();
[[nodiscard]] api_group commands_group();
[[nodiscard]] api_group audit_group();

/// All of them, in the order of --help.
[[nodiscard]] std::vector<api_group> api_groups();

}  // namespace bc::cli
