#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::site::kind;

result<events::site::created> read_create(const exchange& x) {
  auto in = x.in();
  BC_TRY(name, in.text("name"));
  BC_TRY(kind_text, in.optional_text("kind"));
  // The schema's `enum` compares hashes, so the text is read once more.
  auto site_kind = events::site::parse_kind(kind_text.value_or("dedicated"));
  if (!site_kind)
    return fail(errc::invalid_input, "is no kind of site", "/kind");
  if (*site_kind == kind::shared && !x.who.root)
    return fail(errc::access_denied,
                "The root tenant alone makes shared sites");
  auto now = x.streams->now();
  return events::site::created{pki::mint<site_id>(now), x.who.tenant, name,
                               *site_kind, now};
}

}  // namespace

void sites_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto made = std::move(read).value();
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(made.id),
                      made.owner.str(),
                      0,
                      {events::site::encode(made)}});
  append(
      x, std::move(b),
      [x, made](std::uint64_t position) {
        x->answer(record_text(row_of(made), position));
      },
      [x] { sites_create(x); });
}

void sites_get(exchange_ptr x) {
  auto text = x->in().text("siteId");
  auto id = text ? site_id::parse(text.value()) : text.error();
  if (!id)
    return x->refuse(errc::not_found, "No such site");
  x->streams->site(
      id.value(), then(x, [x](const shared_state<events::site::state>& found) {
        const auto& site = found->site;
        if (!site ||
            (site->owner != x->who.tenant && site->site_kind != kind::shared))
          return x->refuse(errc::not_found, "No such site");
        x->answer(record_text(row_of(*site)));
      }));
}

void sites_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  x->streams->query(
      [p = page.value(), tenant = x->who.tenant.str()](
          projections::queries& q) -> result<std::string> {
        BC_TRY(rows, q.list_sites(tenant, p.after, p.limit));
        return page_text(rows);
      },
      then(x, [x](std::string text) { x->answer(std::move(text)); }));
}

}  // namespace bc::actors::api
