#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/api/settle.hpp"
#include "actors/batches.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::pool::agent;
using events::pool::policy;
using events::pool::state;

fault no_such_pool() {
  return fail(errc::not_found, "No such pool");
}

// The schema's `enum` compares hashes, so these texts are read once more.
result<std::optional<agent>> read_agent(const json::reader& in) {
  BC_TRY(text, in.optional_text("agent"));
  if (!text)
    return std::nullopt;
  auto found = events::pool::parse_agent(*text);
  if (!found)
    return fail(errc::invalid_input, "is no agent", "/agent");
  return found;
}

result<std::optional<policy>> read_rules(const json::reader& in) {
  if (!in.has("policy"))
    return std::nullopt;
  BC_TRY(object, in.object("policy"));
  BC_TRY(rules, events::pool::read_policy(object));
  for (std::size_t i = 0; i < rules.join_attestors.size(); ++i)
    if (!events::pool::is_attestor(rules.join_attestors[i]))
      return fail(errc::invalid_input, "is no attestor",
                  "/policy/joinAttestors/" + std::to_string(i));
  return std::optional{std::move(rules)};
}

/// A pool as it is asked for, but for its site's state.
result<events::pool::created> read_create(const exchange& x) {
  auto in = x.in();
  BC_TRY(site_text, in.text("siteId"));
  BC_TRY(name, in.text("name"));
  BC_TRY(pool_agent, read_agent(in));
  BC_TRY(rules, read_rules(in));
  auto site = site_id::parse(site_text);
  if (!site)
    return fail(errc::not_found, "No such site");
  auto now = x.streams->now();
  return events::pool::created{pki::mint<pool_id>(now),
                               x.who.tenant,
                               site.value(),
                               name,
                               pool_agent.value_or(agent::bcd),
                               now,
                               rules.value_or(policy{})};
}

result<events::pool::update> read_update(const exchange& x) {
  auto in = x.in();
  BC_TRY(name, in.optional_text("name"));
  BC_TRY(pool_agent, read_agent(in));
  BC_TRY(rules, read_rules(in));
  return events::pool::update{name, pool_agent, rules, x.streams->now()};
}

result<void> check_site(const exchange& x, const events::site::state& s) {
  if (!s.site || !is_visible_to(*s.site, x.who.tenant))
    return fail(errc::not_found, "No such site");
  if (s.deleted_at)
    return fail(errc::invalid_state, "The site is deleted");
  return ok();
}

// The caller's own pool, archived or not; else NOT_FOUND.
template <class Next>
void find_pool(exchange_ptr x, Next next) {
  auto text = x->in().text("poolId");
  auto id = text ? pool_id::parse(text.value()) : text.error();
  if (!id)
    return x->refuse(no_such_pool());
  x->streams->pool(id.value(),
                   then(x, [x, next](const shared_state<state>& found) {
                     if (!found->pool || found->pool->tenant != x->who.tenant)
                       return x->refuse(no_such_pool());
                     next(found);
                   }));
}

template <class Command>
void change_pool(exchange_ptr x, const Command& command,
                 void (*again)(exchange_ptr)) {
  find_pool(x, [x, command, again](const shared_state<state>& found) {
    auto decided = decide(*found, command);
    if (!decided)
      return x->refuse(decided.error());
    settle(x, x->new_batch(), events::stream_of(found->pool->id), *found,
           decided.value(), [x, again] { again(x); });
  });
}

}  // namespace

void pools_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto made = std::move(read).value();
  x->streams->site(
      made.site,
      then(x, [x, made](const shared_state<events::site::state>& found) {
        auto b = x->new_batch();
        b.writes.push_back(pin(events::stream_of(made.site), found->version));
        if (auto good = check_site(*x, *found); !good)
          return refuse_confirmed(x, std::move(b), good.error(),
                                  [x] { pools_create(x); });
        settle(x, std::move(b), events::stream_of(made.id), state{},
               std::vector<events::pool::event>{made},
               [x] { pools_create(x); });
      }));
}

void pools_update(exchange_ptr x) {
  auto read = read_update(*x);
  if (!read)
    return x->refuse(read.error());
  change_pool(x, read.value(), pools_update);
}

void pools_archive(exchange_ptr x) {
  change_pool(x, events::pool::archive{x->streams->now()}, pools_archive);
}

void pools_get(exchange_ptr x) {
  find_pool(x, [x](const shared_state<state>& found) {
    x->answer(record_text(row_of(*found)));
  });
}

void pools_list(exchange_ptr x) {
  auto all = x->in().boolean_or("includeArchived", false);
  if (!all)
    return x->refuse(all.error());
  answer_page(x, [all = all.value(), tenant = x->who.tenant.str()](
                     projections::queries& q, const paging& p) {
    return q.list_pools(tenant, all, p.after, p.limit);
  });
}

}  // namespace bc::actors::api
