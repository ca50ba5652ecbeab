#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"

#include <utility>

// audit.list: who decided what (events/audit.hpp).
namespace bc::actors::api {

namespace {

constexpr std::string_view newest = "newest";
constexpr std::string_view oldest = "oldest";

result<std::optional<time_point>> read_time(const json::reader& in,
                                            std::string_view name) {
  BC_TRY(text, in.optional_text(name));
  if (!text)
    return std::optional<time_point>{};
  auto at = from_rfc3339(*text);
  if (!at)
    return fail(errc::invalid_input,
                "is no time of the form 2026-11-29T18:09:21Z",
                in.path_of(name));
  return std::optional{at.value()};
}

result<projections::audit_filter> read_filter(const exchange& x) {
  auto in = x.in();
  projections::audit_filter which;
  which.tenant = x.who.tenant.str();
  BC_TRY(action, in.optional_text("action"));
  which.action = action.value_or("");
  BC_TRY(resource, in.optional_text("resource"));
  which.resource = resource.value_or("");
  BC_TRY(principal, in.optional_text("principal"));
  which.principal = principal.value_or("");
  BC_TRY(correlation, in.optional_text("correlation"));
  which.correlation = correlation.value_or("");
  BC_TRY(from, read_time(in, "from"));
  which.from = from;
  BC_TRY(until, read_time(in, "until"));
  which.until = until;
  BC_TRY(order, in.optional_text("order"));
  if (order && *order != newest && *order != oldest)
    return fail(errc::invalid_input, "is no order of a list", "/order");
  which.newest_first = order != oldest;
  return which;
}

}  // namespace

void audit_list(exchange_ptr x) {
  auto which = read_filter(*x);
  if (!which)
    return x->refuse(which.error());
  answer_page(
      x, [which = which.value()](projections::queries& q, const paging& p) {
        return q.list_audit(which, p.after, p.limit);
      });
}

}  // namespace bc::actors::api
