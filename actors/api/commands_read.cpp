#include "actors/api/command_records.hpp"
#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"

#include <utility>

// commands.get and commands.list.
namespace bc::actors::api {

namespace {

std::string page_text_at(projections::page<projections::command_row> rows,
                         time_point now) {
  projections::page<command_record> shown;
  for (auto& row : rows.items)
    shown.items.push_back({std::move(row), now});
  shown.next = std::move(rows.next);
  return page_text(shown);
}

}  // namespace

void commands_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  auto node = x->in().text("nodeId");
  if (!page || !node)
    return x->refuse(errc::invalid_input, "The input does not fit its schema");
  auto id = node_id::parse(node.value());
  if (!id)
    return x->refuse(errc::not_found, "No such node");
  auto read = [p = page.value(), id = id.value(), tenant = x->who.tenant.str(),
               now = x->streams->now()](
                  projections::queries& q) -> result<std::string> {
    BC_TRY(rows, q.list_commands(tenant, id.str(), p.after, p.limit));
    return page_text_at(std::move(rows), now);
  };
  x->streams->node(
      id.value(),
      then(x, [x, read](const shared_state<events::node::state>& found) {
        if (!found->node || found->node->tenant != x->who.tenant)
          return x->refuse(errc::not_found, "No such node");
        answer_from(x, read);
      }));
}

void commands_get(exchange_ptr x) {
  auto node = x->in().text("nodeId");
  auto id = x->in().text("commandId");
  if (!node || !id)
    return x->refuse(errc::invalid_input, "The input does not fit its schema");
  // No text: no such command.
  x->streams->query(
      [node = node.value(), id = id.value(), tenant = x->who.tenant.str(),
       now =
           x->streams->now()](projections::queries& q) -> result<std::string> {
        BC_TRY(row, q.get_command(tenant, node, id));
        return row ? record_text(command_record{std::move(*row), now})
                   : std::string{};
      },
      then(x, [x](std::string text) {
        if (text.empty())
          return x->refuse(errc::not_found, "No such command of this node");
        x->answer(std::move(text));
      }));
}

}  // namespace bc::actors::api
