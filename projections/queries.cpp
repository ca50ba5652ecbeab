#include "projections/queries.hpp"

#include "events/command.hpp"
#include "pki/certificate.hpp"
#include "projections/audit_query.hpp"
#include "projections/checkpoint.hpp"
#include "projections/request_query.hpp"
#include "projections/row_source.hpp"
#include "projections/rows.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

namespace bc::projections {

namespace {

// Two pages of the same list as one. A node that was retired between the two
// reads is in both, and is retired.
page<node_row> merged(page<node_row> live, page<node_row> retired, int limit) {
  page<node_row> out;
  auto by_id = [](const node_row& a, const node_row& b) { return a.id < b.id; };
  std::set_union(retired.items.begin(), retired.items.end(), live.items.begin(),
                 live.items.end(), std::back_inserter(out.items), by_id);
  const auto most = static_cast<std::size_t>(limit);
  if (out.items.size() > most || live.next || retired.next) {
    out.items.resize(std::min(out.items.size(), most));
    out.next = out.items.back().id;
  }
  return out;
}

// Sites that were deleted later than this are left out; the others count as
// deleted at 0.
std::int64_t latest_end(bool include_deleted) {
  return include_deleted ? std::numeric_limits<std::int64_t>::max() : 0;
}

// No certificate lives longer, what it is backdated by included.
constexpr auto longest_life = pki::max_node_lifetime + pki::backdating;

// Both, each once.
std::vector<certificate_row> newest_first(
    std::vector<certificate_row> all,
    const std::vector<certificate_row>& more) {
  for (const auto& row : more)
    if (std::ranges::find(all, row.serial, &certificate_row::serial) ==
        all.end())
      all.push_back(row);
  auto age = [](const certificate_row& c) {
    return std::tie(c.generation, c.not_before, c.serial);
  };
  std::ranges::sort(all, std::greater{}, age);
  return all;
}

std::int64_t one_more(int limit) {
  return std::int64_t{limit} + 1;
}

struct shared_mac {
  std::string node, other, mac;
};

class sql_queries final : public queries {
 public:
  explicit sql_queries(std::unique_ptr<source> from) : db_(std::move(from)) {}

  result<page<tenant_row>> list_tenants(std::string_view after,
                                        int limit) override {
    return db_.page_of(query::tenants, limit, read_tenant, after,
                       one_more(limit));
  }

  result<page<site_row>> list_sites(std::string_view tenant,
                                    bool include_deleted,
                                    std::string_view after,
                                    int limit) override {
    return db_.page_of(query::sites, limit, read_site, tenant, after,
                       one_more(limit), latest_end(include_deleted));
  }

  result<page<pool_row>> list_pools(std::string_view tenant,
                                    bool include_archived,
                                    std::string_view after,
                                    int limit) override {
    return db_.page_of(include_archived ? query::pools : query::live_pools,
                       limit, read_pool, tenant, after, one_more(limit));
  }

  result<page<join_token_row>> list_join_tokens(
      std::string_view tenant, std::string_view pool, bool include_inactive,
      time_point now, std::string_view after, int limit) override {
    if (include_inactive)
      return db_.page_of(query::all_tokens, limit, read_token, tenant, pool,
                         after, one_more(limit));
    return db_.page_of(query::live_tokens, limit, read_token, tenant, pool,
                       after, one_more(limit), to_millis(now));
  }

  result<page<join_request_row>> list_join_requests(const request_filter& f,
                                                    std::string_view after,
                                                    int limit) override {
    std::vector<page<join_request_row>> found;
    for (const auto& w : walks_of(f)) {
      BC_TRY(one, walk_requests(w, after, limit));
      found.push_back(std::move(one));
    }
    return merged(std::move(found), limit);
  }

  result<std::vector<std::int64_t>> taken_places(std::string_view site,
                                                 time_point now) override {
    return db_.rows(
        query::taken_places, [](row_reader r) { return r.number(); }, site,
        to_millis(now));
  }

  result<std::vector<std::string>> shared_macs(std::string_view site,
                                               time_point now) override {
    BC_TRY(macs, db_.texts(query::waiting_macs, site, to_millis(now)));
    std::map<std::string, int> waiting;
    for (const auto& mac : macs)
      ++waiting[mac];
    std::vector<std::string> out;
    for (const auto& [mac, times] : waiting)
      if (times > 1)
        out.push_back(mac);
    return out;
  }

  result<page<node_row>> list_nodes(const node_filter& f,
                                    std::string_view after,
                                    int limit) override {
    // There are few of any other status, whatever else is asked for.
    if (!f.status.empty() && f.status != "adopted")
      return nodes_of_status(f, f.status, after, limit);
    BC_TRY(live, live_nodes(f, after, limit));
    if (!f.include_retired || !f.status.empty())
      return std::move(live);
    BC_TRY(retired, nodes_of_status(f, "retired", after, limit));
    return merged(std::move(live), std::move(retired), limit);
  }

  result<std::optional<node_row>> get_node(std::string_view tenant,
                                           std::string_view node) override {
    return db_.first(query::one_node, read_node, tenant, node);
  }

  result<certificates_of_node> list_certificates(std::string_view tenant,
                                                 std::string_view node,
                                                 time_point now,
                                                 int most) override {
    auto read = [](row_reader r) { return read_certificate(r); };
    BC_TRY(newest, db_.rows(query::newest_certificates, read, tenant, node,
                            std::int64_t{most}));
    BC_TRY(live, db_.rows(query::live_certificates, read, tenant, node,
                          to_millis(now), to_millis(now - longest_life)));
    BC_TRY(total, db_.count(query::certificates_of_node, tenant, node));
    return certificates_of_node{newest_first(std::move(newest), live), total};
  }

  result<std::vector<joined_request_row>> joined_requests(
      const joined_request_row& after, time_point now, int limit) override {
    return db_.rows(query::joined_requests, read_joined_request, after.node,
                    after.request, to_millis(now), std::int64_t{limit});
  }

  result<page<command_row>> list_commands(std::string_view tenant,
                                          std::string_view node,
                                          std::string_view after,
                                          int limit) override {
    constexpr std::string_view above_all = "~";
    auto found =
        db_.page_of(query::commands_of_node, limit, read_command, tenant, node,
                    after.empty() ? above_all : after, one_more(limit));
    if (found && found.value().next)
      found.value().next = found.value().items.back().sequence;
    return found;
  }

  result<std::optional<command_row>> get_command(
      std::string_view tenant, std::string_view node,
      std::string_view command) override {
    return db_.first(query::one_command, read_command, tenant, node, command);
  }

  result<std::vector<std::string>> pending_commands(std::string_view node,
                                                    time_point now,
                                                    int limit) override {
    return db_.texts(query::pending_commands, node, to_millis(now),
                     std::int64_t{limit},
                     to_millis(now - events::command::longest_lifetime));
  }

  result<page<credential_row>> list_credentials(std::string_view tenant,
                                                std::string_view after,
                                                int limit) override {
    return db_.page_of(query::credentials, limit, read_credential, tenant,
                       after, one_more(limit));
  }

  result<page<audit_row>> list_audit(const audit_filter& f,
                                     std::string_view after,
                                     int limit) override {
    const auto range = range_of(f, after);
    return db_.page_of(text_of(f), limit, read_audit, f.tenant, range.above,
                       range.below, one_more(limit), f.action, f.resource,
                       f.principal, f.correlation);
  }

  result<std::vector<shared_hardware_row>> untold_shared_hardware(
      int limit) override {
    BC_TRY(found, db_.rows(
                      query::untold_shared,
                      [](row_reader r) {
                        return shared_mac{r.text(), r.text(), r.text()};
                      },
                      one_more(limit)));
    std::vector<shared_hardware_row> out;
    for (auto& [node, other, mac] : found) {
      if (out.empty() || out.back().node != node || out.back().other != other)
        out.push_back({std::move(node), std::move(other), {}});
      out.back().macs.push_back(std::move(mac));
    }
    // The last pair may be cut short.
    if (found.size() > static_cast<std::size_t>(limit) && out.size() > 1)
      out.pop_back();
    return out;
  }

  result<std::vector<std::string>> nodes_to_warn(time_point now,
                                                 int limit) override {
    return db_.texts(query::nodes_to_warn, to_millis(now), std::int64_t{limit});
  }

  result<std::optional<std::string>> next_gateway(
      std::string_view after) override {
    return db_.first(
        query::next_gateway, [](row_reader r) { return r.text(); }, after);
  }

  result<std::vector<std::string>> nodes_at(std::string_view gateway,
                                            int limit) override {
    return db_.texts(query::nodes_at, gateway, std::int64_t{limit});
  }

  result<page<node_row>> list_nodes_of_token(std::string_view tenant,
                                             std::string_view token,
                                             std::string_view after,
                                             int limit) override {
    return db_.page_of(query::nodes_of_token, limit, read_node, tenant, after,
                       one_more(limit), token);
  }

  result<std::uint64_t> sessions_at(std::string_view gateway) override {
    return db_.count(query::sessions_at, gateway);
  }

  result<std::uint64_t> nodes_ending(time_point after, time_point until,
                                     time_point now) override {
    return db_.count(query::nodes_ending, to_millis(after), to_millis(until),
                     to_millis(now));
  }

  result<std::uint64_t> commands_waiting(time_point now) override {
    return db_.count(query::commands_waiting, to_millis(now));
  }

  result<std::optional<revocation_row>> last_revocation() override {
    return db_.first(query::last_revocation, read_revocation, std::int64_t{0});
  }

  result<std::vector<revoked_row>> revoked_certificates(
      time_point ends_after, std::uint64_t position) override {
    return db_.rows(query::revoked_certificates, read_revoked,
                    to_millis(ends_after), sql::to_sql(position));
  }

  result<std::uint64_t> position() override {
    BC_TRY(at, db_.with<checkpoint>(read_checkpoint));
    return at.position;
  }

  result<std::uint64_t> parked() override {
    return db_.count("select count(*) from parked_streams");
  }

 private:
  result<page<join_request_row>> walk_requests(const request_walk& w,
                                               std::string_view after,
                                               int limit) {
    if (w.state.empty())
      return db_.page_of(query::requests_of_scope, limit, read_request, w.scope,
                         after, one_more(limit));
    return db_.page_of(query::requests_by_state, limit, read_request, w.scope,
                       after, one_more(limit), w.state, w.ends_after,
                       w.ends_until);
  }

  result<page<node_row>> live_nodes(const node_filter& f,
                                    std::string_view after, int limit) {
    if (!f.pool.empty())
      return db_.page_of(query::nodes_of_pool, limit, read_node, f.tenant,
                         after, one_more(limit), f.pool, f.site, f.status);
    if (!f.site.empty())
      return db_.page_of(query::nodes_of_site, limit, read_node, f.tenant,
                         after, one_more(limit), f.site, f.status);
    return db_.page_of(query::nodes_of_tenant, limit, read_node, f.tenant,
                       after, one_more(limit), f.status);
  }

  result<page<node_row>> nodes_of_status(const node_filter& f,
                                         std::string_view status,
                                         std::string_view after, int limit) {
    return db_.page_of(query::nodes_of_status, limit, read_node, f.tenant,
                       after, one_more(limit), status, f.pool, f.site);
  }

  row_source db_;
};

}  // namespace

std::unique_ptr<queries> make_queries(std::unique_ptr<source> from) {
  return std::make_unique<sql_queries>(std::move(from));
}

}  // namespace bc::projections
