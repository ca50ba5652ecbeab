#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/node_records.hpp"
#include "actors/api/records.hpp"

#include <utility>

// nodes.list and nodes.get.
namespace bc::actors::api {

namespace {

// The schema's `enum` compares hashes, so the text is read once more.
bool is_status(std::string_view text) {
  using events::node::status;
  for (auto s :
       {status::adopting, status::adopted, status::cordoned, status::retired})
    if (status_text(s) == text)
      return true;
  return false;
}

result<projections::node_filter> read_filter(const exchange& x) {
  auto in = x.in();
  projections::node_filter which;
  which.tenant = x.who.tenant.str();
  BC_TRY(pool, in.optional_text("poolId"));
  which.pool = pool.value_or("");
  BC_TRY(site, in.optional_text("siteId"));
  which.site = site.value_or("");
  BC_TRY(status, in.optional_text("status"));
  if (status && !is_status(*status))
    return fail(errc::invalid_input, "is no status of a node", "/status");
  which.status = status.value_or("");
  BC_TRY(retired, in.boolean_or("includeRetired", false));
  which.include_retired = retired;
  return which;
}

std::string nodes_text(projections::page<projections::node_row> rows,
                       time_point now) {
  projections::page<node_record> shown;
  for (auto& row : rows.items)
    shown.items.push_back({std::move(row), now});
  shown.next = std::move(rows.next);
  return page_text(shown);
}

// A node that renews for years has thousands; an operator wants the last days.
constexpr int most_certificates = 20;

std::string node_text(const node_record& node,
                      const projections::certificates_of_node& all) {
  json::writer out;
  out.begin_object();
  put(out, node);
  out.key("certificates").begin_array();
  for (const auto& certificate : all.shown) {
    out.begin_object();
    put(out, certificate);
    out.end_object();
  }
  out.end_array().field("certificateCount", all.total);
  return out.end_object().str();
}

}  // namespace

void nodes_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  auto which = read_filter(*x);
  if (!which)
    return x->refuse(which.error());
  answer_from(
      x,
      [p = page.value(), which = which.value(), now = x->streams->now()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(rows, q.list_nodes(which, p.after, p.limit));
        return nodes_text(std::move(rows), now);
      });
}

void nodes_get(exchange_ptr x) {
  auto id = x->in().text("nodeId");
  if (!id)
    return x->refuse(id.error());
  // No text: no such node.
  x->streams->query(
      [id = id.value(), tenant = x->who.tenant.str(), now = x->streams->now()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(node, q.get_node(tenant, id));
        if (!node)
          return std::string{};
        BC_TRY(certificates,
               q.list_certificates(tenant, id, now, most_certificates));
        return node_text({std::move(*node), now}, certificates);
      },
      then(x, [x](std::string text) {
        if (text.empty())
          return x->refuse(errc::not_found, "No such node");
        x->answer(std::move(text));
      }));
}

}  // namespace bc::actors::api
