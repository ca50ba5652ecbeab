#pragma once

#include <string_view>

/// The SQL of the audit's lists: one for each index that may be walked, in
/// both orders. What the index does not say is compared row by row; an empty
/// text compares with everything.
namespace bc::projections::query {

// ?1 tenant, ?2 and ?3 the ids between which rows lie, ?4 how many.
#define BC_AUDIT(narrowed, order)                                             \
  "select id, position, owner, at, principal, actor_tenant, credential,"      \
  " action, resource, event, correlation, details from audit where tenant = " \
  "?1 and id > ?2"                                                            \
  " and id < ?3 and " narrowed " order by id " order " limit ?4"
#define BC_AUDIT_BOTH(name, narrowed)                                 \
  inline constexpr std::string_view name = BC_AUDIT(narrowed, "asc"); \
  inline constexpr std::string_view name##_newest = BC_AUDIT(narrowed, "desc")

BC_AUDIT_BOTH(audit_of_tenant,
              "(?5 = '' or action = ?5) and (?6 = '' or resource = ?6)"
              " and (?7 = '' or principal = ?7)"
              " and (?8 = '' or correlation = ?8)");
BC_AUDIT_BOTH(audit_of_resource,
              "resource = ?6 and (?5 = '' or action = ?5)"
              " and (?7 = '' or principal = ?7)"
              " and (?8 = '' or correlation = ?8)");
BC_AUDIT_BOTH(audit_of_correlation,
              "correlation = ?8 and (?5 = '' or action = ?5)"
              " and (?6 = '' or resource = ?6)"
              " and (?7 = '' or principal = ?7)");
// The first condition is the partial index's own.
BC_AUDIT_BOTH(audit_of_principal,
              "principal <> 'machine' and principal = ?7"
              " and (?5 = '' or action = ?5) and (?6 = '' or resource = ?6)"
              " and (?8 = '' or correlation = ?8)");
BC_AUDIT_BOTH(audit_of_action,
              "action <> 'node.joined' and action = ?5"
              " and (?6 = '' or resource = ?6)"
              " and (?7 = '' or principal = ?7)"
              " and (?8 = '' or correlation = ?8)");

#undef BC_AUDIT_BOTH
#undef BC_AUDIT

inline constexpr std::string_view all_of_audit[] = {
    audit_of_tenant,      audit_of_tenant_newest,
    audit_of_resource,    audit_of_resource_newest,
    audit_of_correlation, audit_of_correlation_newest,
    audit_of_principal,   audit_of_principal_newest,
    audit_of_action,      audit_of_action_newest,
};

}  // namespace bc::projections::query
