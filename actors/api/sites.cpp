#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/api/settle.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::site::kind;
using events::site::state;

fault no_such_site() {
  return fail(errc::not_found, "No such site");
}

// The platform's hardware is the root tenant's; others bring their own.
result<kind> read_kind(const exchange& x) {
  BC_TRY(text, x.in().optional_text("kind"));
  if (!text)
    return x.who.root ? kind::dedicated : kind::custom;
  // The schema's `enum` compares hashes, so the text is read once more.
  auto found = events::site::parse_kind(*text);
  if (!found)
    return fail(errc::invalid_input, "is no kind of site", "/kind");
  if (*found != kind::custom && !x.who.root)
    return fail(errc::access_denied,
                "The root tenant alone makes platform sites (shared, "
                "dedicated)");
  return *found;
}

// A text that is no id of ours names no tenant.
result<std::optional<tenant_id>> read_dedicated_to(const json::reader& in) {
  BC_TRY(text, in.optional_text("dedicatedTo"));
  if (!text)
    return std::nullopt;
  auto id = tenant_id::parse(*text);
  if (!id)
    return fail(errc::not_found, "No such tenant");
  return std::optional{std::move(id).value()};
}

result<events::site::created> read_create(const exchange& x) {
  auto in = x.in();
  BC_TRY(name, in.text("name"));
  BC_TRY(site_kind, read_kind(x));
  BC_TRY(dedicated_to, read_dedicated_to(in));
  if (dedicated_to && site_kind != kind::dedicated)
    return fail(errc::invalid_input, "is for dedicated sites alone",
                "/dedicatedTo");
  if (dedicated_to == x.who.tenant)
    dedicated_to.reset();
  auto now = x.streams->now();
  return events::site::created{pki::mint<site_id>(now),
                               x.who.tenant,
                               name,
                               site_kind,
                               now,
                               dedicated_to};
}

result<events::site::update> read_update(const exchange& x) {
  auto in = x.in();
  BC_TRY(name, in.optional_text("name"));
  BC_TRY(dedicated_to, read_dedicated_to(in));
  return events::site::update{name, dedicated_to, x.streams->now()};
}

// A batch pinned to the tenant that is to be served, which must be there.
void with_served(exchange_ptr x, const std::optional<tenant_id>& served,
                 std::function<void(events::batch)> next) {
  if (!served)
    return next(x->new_batch());
  x->streams->tenant(
      *served, then(x, [x, id = *served, next = std::move(next)](
                           const shared_state<events::tenant::state>& found) {
        if (!found->tenant)
          return x->refuse(errc::not_found, "No such tenant");
        auto b = x->new_batch();
        b.writes.push_back({events::stream_of(id), {}, found->version, {}});
        next(std::move(b));
      }));
}

// The site of the input, deleted or not, where `may` says so; else NOT_FOUND.
template <class May, class Next>
void find_site(exchange_ptr x, May may, Next next) {
  auto text = x->in().text("siteId");
  auto id = text ? site_id::parse(text.value()) : text.error();
  if (!id)
    return x->refuse(no_such_site());
  x->streams->site(id.value(),
                   then(x, [x, may, next](const shared_state<state>& found) {
                     if (!found->site || !may(*found->site))
                       return x->refuse(no_such_site());
                     next(found);
                   }));
}

auto owned_by(const exchange_ptr& x) {
  return
      [x](const events::site::created& s) { return s.owner == x->who.tenant; };
}

void settle_site(exchange_ptr x, events::batch b,
                 const shared_state<state>& before,
                 const std::vector<events::site::event>& decided,
                 void (*again)(exchange_ptr)) {
  settle(x, std::move(b), events::stream_of(before->site->id), *before, decided,
         [x, again] { again(x); });
}

}  // namespace

void sites_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  with_served(x, read.value().dedicated_to,
              [x, made = read.value()](events::batch b) {
                settle(x, std::move(b), events::stream_of(made.id), state{},
                       std::vector<events::site::event>{made},
                       [x] { sites_create(x); });
              });
}

void sites_update(exchange_ptr x) {
  auto read = read_update(*x);
  if (!read)
    return x->refuse(read.error());
  find_site(
      x, owned_by(x), [x, in = read.value()](const shared_state<state>& found) {
        auto decided = decide(*found, in);
        if (!decided)
          return x->refuse(decided.error());
        if (in.dedicated_to && !x->who.root)
          return x->refuse(errc::access_denied,
                           "The root tenant alone says whom a site serves");
        with_served(x, in.dedicated_to,
                    [x, found, events = decided.value()](events::batch b) {
                      settle_site(x, std::move(b), found, events, sites_update);
                    });
      });
}

void sites_delete(exchange_ptr x) {
  find_site(x, owned_by(x), [x](const shared_state<state>& found) {
    auto decided = decide(*found, events::site::remove{x->streams->now()});
    if (!decided)
      return x->refuse(decided.error());
    settle_site(x, x->new_batch(), found, decided.value(), sites_delete);
  });
}

void sites_get(exchange_ptr x) {
  find_site(
      x,
      [x](const events::site::created& s) {
        return is_visible_to(s, x->who.tenant);
      },
      [x](const shared_state<state>& found) {
        x->answer(record_text(row_of(*found)));
      });
}

void sites_list(exchange_ptr x) {
  auto all = x->in().boolean_or("includeDeleted", false);
  if (!all)
    return x->refuse(all.error());
  answer_page(x, [all = all.value(), tenant = x->who.tenant.str()](
                     projections::queries& q, const paging& p) {
    return q.list_sites(tenant, all, p.after, p.limit);
  });
}

}  // namespace bc::actors::api
