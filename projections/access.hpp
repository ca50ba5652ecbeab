#pragma once

#include "base/result.hpp"
#include "events/sql.hpp"
#include "projections/apply.hpp"
#include "projections/tables.hpp"

#include <string_view>

/// The authorization projection (spec: api-site-tokens, sites): which tenant
/// may see which site, pool and node. A tenant sees its own, shared sites, and
/// the sites dedicated to it. Rows stay when what they name has ended.
namespace bc::projections {

/// The tenant of what everyone may see.
inline constexpr std::string_view everyone = "*";

/// Writes what the event changes of it.
[[nodiscard]] result<void> write_access(sql::connection& db,
                                        const statements& sql, const change& c);

}  // namespace bc::projections
