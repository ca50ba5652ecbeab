#include "ops/cli/api_groups.hpp"

namespace bc::cli {

std::vector<api_group> api_groups() {
  return {tenants_group(),       sites_group(),       pools_group(),
          credentials_group(),   join_tokens_group(), site_tokens_group(),
          join_requests_group(), joins_group(),       nodes_group(),
          commands_group(),      audit_group()};
}

}  // namespace bc::cli
