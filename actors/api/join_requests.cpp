#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/api/request_records.hpp"
#include "actors/batches.hpp"
#include "events/join_request.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

// joinRequests.list, approve and reject (spec: api-join-requests).
namespace bc::actors::api {

namespace {

namespace request = events::join_request;
using pool_state = shared_state<events::pool::state>;
using site_state = shared_state<events::site::state>;
using request_state = shared_state<request::state>;

/// The caller's pool and its site, as they are now.
struct place_of_call {
  pool_state pool;
  site_state site;

  [[nodiscard]] request::decider decider(const tenant_id& caller) const {
    return {pool->pool->id, pool->pool->site,
            !site->deleted_at && is_visible_to(*site->site, caller)};
  }
};

/// NOT_FOUND for a pool that is not the caller's.
void find_place(exchange_ptr x,
                std::function<void(const place_of_call&)> next) {
  auto text = x->in().text("poolId");
  auto id = text ? pool_id::parse(text.value()) : result<pool_id>{text.error()};
  if (!id)
    return x->refuse(errc::not_found, "No such pool");
  x->streams->pool(
      id.value(), then(x, [x, next = std::move(next)](const pool_state& pool) {
        if (!pool->pool || pool->pool->tenant != x->who.tenant)
          return x->refuse(errc::not_found, "No such pool");
        x->streams->site(pool->pool->site,
                         then(x, [pool, next](const site_state& site) {
                           next({pool, site});
                         }));
      }));
}

// The schema's `enum` compares hashes, so the text is read once more.
result<std::string> read_state(const json::reader& in) {
  BC_TRY(text, in.optional_text("state"));
  auto state = text.value_or("pending");
  if (state == "all")
    return std::string{};
  if (!request::parse_status(state))
    return fail(errc::invalid_input,
                "must be one of pending, approved, rejected, expired, "
                "consumed, all",
                "/state");
  return state;
}

// Two that wait with one MAC are one machine with two faces, or a machine that
// says to be another (ATTESTATION section 4).
std::string page_of(const projections::page<projections::join_request_row>& in,
                    const std::vector<std::string>& shared, time_point now) {
  projections::page<request_record> out;
  for (const auto& row : in.items) {
    auto& record = out.items.emplace_back(request_record{row, now});
    if (row.mac)
      record.same_mac = row.state == status_text(request::status::pending) &&
                        now < row.expires_at &&
                        std::ranges::find(shared, *row.mac) != shared.end();
  }
  out.next = in.next;
  return page_text(out);
}

/// What the call asks of a request, at a time.
using command = std::function<result<std::vector<request::event>>(
    const exchange&, const place_of_call&, const request::state&)>;

void decide_on_request(exchange_ptr x, const command& asked);

// An approval rests on the pool and on whom its site serves.
events::batch new_batch(const exchange& x, const place_of_call& from) {
  auto b = x.new_batch();
  b.writes.push_back(
      {events::stream_of(from.pool->pool->id), {}, from.pool->version, {}});
  b.writes.push_back(
      {events::stream_of(from.pool->pool->site), {}, from.site->version, {}});
  return b;
}

void settle_request(exchange_ptr x, const command& asked,
                    const place_of_call& from, const request_state& before,
                    const std::vector<request::event>& decided) {
  auto b = new_batch(*x, from);
  auto after = *before;
  events::stream_write write{
      events::stream_of(before->request->id), {}, before->version, {}};
  for (const auto& e : decided) {
    after = evolve(std::move(after), e);
    write.tenant = x->who.tenant.str();
    write.events.push_back(request::encode(e));
  }
  b.writes.push_back(std::move(write));
  // What ends by itself must not be decided on after its end.
  if (!decided.empty())
    b.valid_until = before->request->expires_at;
  auto answer = [x, row = row_of(after)](std::uint64_t position) {
    x->answer(record_text(request_record{row, x->streams->now()}, position));
  };
  auto again = [x, asked] { decide_on_request(x, asked); };
  if (decided.empty())
    return confirm(x, std::move(b), std::move(answer), std::move(again));
  append(x, std::move(b), std::move(answer), std::move(again));
}

// Another process may have changed what it rests on.
void refuse_request(exchange_ptr x, const command& asked,
                    const place_of_call& from, const request_state& found,
                    const fault& why) {
  if (!found->request)
    return x->refuse(why);
  auto b = new_batch(*x, from);
  b.writes.push_back(
      pin(events::stream_of(found->request->id), found->version));
  refuse_confirmed(x, std::move(b), why,
                   [x, asked] { decide_on_request(x, asked); });
}

void decide_on_request(exchange_ptr x, const command& asked) {
  find_place(x, [x, asked](const place_of_call& from) {
    auto text = x->in().text("requestId");
    auto id = text ? join_request_id::parse(text.value())
                   : result<join_request_id>{text.error()};
    if (!id)
      return x->refuse(errc::not_found, "No such join request in this pool");
    x->streams->request(
        id.value(), then(x, [x, asked, from](const request_state& found) {
          auto decided = asked(*x, from, *found);
          if (!decided)
            return refuse_request(x, asked, from, found, decided.error());
          settle_request(x, asked, from, found, decided.value());
        }));
  });
}

result<std::vector<request::event>> approve(const exchange& x,
                                            const place_of_call& from,
                                            const request::state& s) {
  if (from.pool->archived_at)
    return fail(errc::invalid_state, "The pool is archived");
  if (from.pool->pool->pool_agent != events::pool::agent::bcd)
    return fail(errc::invalid_state,
                "The machines of this pool run no daemon (its agent is not "
                "bcd)");
  BC_TRY(ttl, x.in().optional_integer("ttlSeconds"));
  BC_TRY(reason, x.in().optional_text("reason"));
  BC_TRY(csr, x.in().optional_text("csrSha256"));
  return decide(
      s, request::approve{from.decider(x.who.tenant), x.who.principal,
                          reason.value_or(""), csr, seconds{ttl.value_or(3600)},
                          x.streams->now()});
}

result<std::vector<request::event>> reject(const exchange& x,
                                           const place_of_call& from,
                                           const request::state& s) {
  BC_TRY(reason, x.in().optional_text("reason"));
  return decide(s, request::reject{from.decider(x.who.tenant), x.who.principal,
                                   reason.value_or(""), x.streams->now()});
}

}  // namespace

void join_requests_list(exchange_ptr x) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  auto state = read_state(x->in());
  if (!state)
    return x->refuse(state.error());
  find_place(x, [x, p = page.value(),
                 state = state.value()](const place_of_call& from) {
    auto who = from.decider(x->who.tenant);
    answer_from(
        x,
        [p, site = who.site.str(),
         which = projections::request_filter{who.pool.str(),
                                             who.sees_unclaimed ? who.site.str()
                                                                : std::string{},
                                             state, x->streams->now()}](
            projections::queries& q) -> result<std::string> {
          BC_TRY(rows, q.list_join_requests(which, p.after, p.limit));
          BC_TRY(shared, q.shared_macs(site, which.now));
          return page_of(rows, shared, which.now);
        });
  });
}

void join_requests_approve(exchange_ptr x) {
  decide_on_request(std::move(x), approve);
}

void join_requests_reject(exchange_ptr x) {
  decide_on_request(std::move(x), reject);
}

}  // namespace bc::actors::api
