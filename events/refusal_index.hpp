#pragma once

#include "base/ids.hpp"
#include "events/refused_join.hpp"
#include "events/sql.hpp"

#include <span>
#include <string_view>
#include <vector>

/// The index of recent refusals in SQL, the same on both databases. What it
/// promises: journal::keep_refusals and find_refusals.
namespace bc::events::detail {

/// In the caller's open transaction, which is rolled back on a fault.
[[nodiscard]] result<void> put_refusals(sql::connection& db, const batch_id& id,
                                        std::span<const refused_join> refused);

[[nodiscard]] result<std::vector<refused_join>> refusals_of(
    sql::connection& db, std::string_view owner, std::string_view csr_sha256,
    std::size_t limit);

}  // namespace bc::events::detail
