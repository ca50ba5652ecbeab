#include "projections/audit_query.hpp"

#include "events/audit.hpp"
#include "projections/audit_query_texts.hpp"

#include <algorithm>

namespace bc::projections {

std::string_view text_of(const audit_filter& f) {
  auto either = [&](std::string_view oldest, std::string_view newest) {
    return f.newest_first ? newest : oldest;
  };
  if (!f.resource.empty())
    return either(query::audit_of_resource, query::audit_of_resource_newest);
  if (!f.correlation.empty())
    return either(query::audit_of_correlation,
                  query::audit_of_correlation_newest);
  if (!f.principal.empty() && f.principal != "machine")
    return either(query::audit_of_principal, query::audit_of_principal_newest);
  if (!f.action.empty() && f.action != "node.joined")
    return either(query::audit_of_action, query::audit_of_action_newest);
  return either(query::audit_of_tenant, query::audit_of_tenant_newest);
}

id_range range_of(const audit_filter& f, std::string_view after) {
  // Ids are digits and dashes, which come before this.
  id_range r{f.from ? events::audit_bound(*f.from) : "",
             f.until ? events::audit_bound(*f.until) : "~"};
  if (after.empty())
    return r;
  if (f.newest_first)
    r.below = std::min(r.below, std::string{after});
  else
    r.above = std::max(r.above, std::string{after});
  return r;
}

}  // namespace bc::projections
