#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::pool::agent;

struct create_input {
  std::string site;
  std::string name;
  agent pool_agent = agent::bcd;
};

result<create_input> read_create(const json::reader& in) {
  BC_TRY(site, in.text("siteId"));
  BC_TRY(name, in.text("name"));
  BC_TRY(agent_text, in.optional_text("agent"));
  auto text = agent_text.value_or("bcd");
  // The schema's `enum` compares hashes, so the text is read once more.
  for (auto a : {agent::bcd, agent::none})
    if (events::pool::agent_text(a) == text)
      return create_input{site, name, a};
  return fail(errc::invalid_input, "is no agent", "/agent");
}

void make_pool(exchange_ptr x, const create_input& in,
               const events::site::state& at) {
  auto now = x->streams->now();
  events::pool::created made{pki::mint<pool_id>(now),
                             x->who.tenant,
                             at.site->id,
                             in.name,
                             in.pool_agent,
                             now};
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(made.id),
                      made.tenant.str(),
                      0,
                      {events::pool::encode(made)}});
  b.writes.push_back({events::stream_of(made.site), {}, at.version, {}});
  append(
      x, std::move(b),
      [x, made](std::uint64_t position) {
        x->answer(record_text(row_of(made), position));
      },
      [x] { pools_create(x); });
}

}  // namespace

void pools_create(exchange_ptr x) {
  auto in = read_create(x->in());
  if (!in)
    return x->refuse(in.error());
  auto id = site_id::parse(in.value().site);
  if (!id)
    return x->refuse(errc::not_found, "No such site");
  x->streams->site(
      id.value(), then(x, [x, in = in.value()](
                              const shared_state<events::site::state>& found) {
        const auto& site = found->site;
        if (!site || (site->owner != x->who.tenant &&
                      site->site_kind != events::site::kind::shared))
          return x->refuse(errc::not_found, "No such site");
        make_pool(x, in, *found);
      }));
}

void pools_get(exchange_ptr x) {
  auto text = x->in().text("poolId");
  auto id = text ? pool_id::parse(text.value()) : text.error();
  if (!id)
    return x->refuse(errc::not_found, "No such pool");
  x->streams->pool(id.value(),
                   then(x, [x](const shared_state<events::pool::state>& found) {
                     if (!found->pool || found->pool->tenant != x->who.tenant)
                       return x->refuse(errc::not_found, "No such pool");
                     x->answer(record_text(row_of(*found->pool)));
                   }));
}

void pools_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  x->streams->query(
      [p = page.value(), tenant = x->who.tenant.str()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(rows, q.list_pools(tenant, p.after, p.limit));
        return page_text(rows);
      },
      then(x, [x](std::string text) { x->answer(std::move(text)); }));
}

}  // namespace bc::actors::api
