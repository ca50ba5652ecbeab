#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

void tenants_create(exchange_ptr x) {
  auto name = x->in().text("name");
  if (!name)
    return x->refuse(name.error());
  auto now = x->streams->now();
  events::tenant::created made{pki::mint<tenant_id>(now), name.value(), false,
                               now};
  auto b = x->new_batch();
  // A tenant's own events are its own from the first one on.
  b.writes.push_back({events::stream_of(made.id),
                      made.id.str(),
                      0,
                      {events::tenant::encode(made)}});
  append(
      x, std::move(b),
      [x, made](std::uint64_t position) {
        x->answer(record_text(row_of(made), position));
      },
      [x] { tenants_create(x); });
}

void tenants_list(exchange_ptr x) {
  answer_page(x, [](projections::queries& q, const paging& p) {
    return q.list_tenants(p.after, p.limit);
  });
}

}  // namespace bc::actors::api
