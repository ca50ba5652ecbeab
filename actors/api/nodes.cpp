#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"

namespace bc::actors::api {

namespace {

std::string node_text(const projections::node_row& node,
                      const std::vector<projections::certificate_row>& all) {
  json::writer out;
  out.begin_object();
  put(out, node);
  out.key("certificates").begin_array();
  for (const auto& certificate : all) {
    out.begin_object();
    put(out, certificate);
    out.end_object();
  }
  return out.end_array().end_object().str();
}

}  // namespace

void nodes_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  auto pool = x->in().optional_text("poolId");
  if (!pool)
    return x->refuse(pool.error());
  x->streams->query(
      [p = page.value(), pool = pool.value().value_or(""),
       tenant = x->who.tenant.str()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(rows, q.list_nodes(tenant, pool, p.after, p.limit));
        return page_text(rows);
      },
      then(x, [x](std::string text) { x->answer(std::move(text)); }));
}

void nodes_get(exchange_ptr x) {
  auto id = x->in().text("nodeId");
  if (!id)
    return x->refuse(id.error());
  // No text: no such node.
  x->streams->query(
      [id = id.value(), tenant = x->who.tenant.str()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(node, q.get_node(tenant, id));
        if (!node)
          return std::string{};
        BC_TRY(certificates, q.list_certificates(tenant, id));
        return node_text(*node, certificates);
      },
      then(x, [x](std::string text) {
        if (text.empty())
          return x->refuse(errc::not_found, "No such node");
        x->answer(std::move(text));
      }));
}

}  // namespace bc::actors::api
