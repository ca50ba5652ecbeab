#pragma once

#include "projections/queries.hpp"

#include <string>
#include <string_view>

/// How the audit is asked (audit_query_texts.hpp).
namespace bc::projections {

/// The query over the index with the fewest rows to walk by.
[[nodiscard]] std::string_view text_of(const audit_filter& f);

/// The ids between which the rows lie, both exclusive.
struct id_range {
  std::string above, below;
};
/// `after`: the cursor, or empty.
[[nodiscard]] id_range range_of(const audit_filter& f, std::string_view after);

}  // namespace bc::projections
