#include "projections/queries.hpp"

#include "events/command.hpp"
#include "events/sqlite.hpp"
#include "pki/certificate.hpp"
#include "projections/audit_query.hpp"
#include "projections/checkpoint.hpp"
#include "projections/query_texts.hpp"
#include "projections/request_query.hpp"
#include "projections/rows.hpp"
#include "projections/source.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
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

class sql_queries final : public queries {
 public:
  explicit sql_queries(std::unique_ptr<source> from) : from_(std::move(from)) {}

  result<page<tenant_row>> list_tenants(std::string_view after,
                                        int limit) override {
    return ask<page<tenant_row>>(query::tenants, [&](sql::statement& s) {
      s.bind(1, after).bind(2, one_more(limit));
      return read_page(s, limit, read_tenant);
    });
  }

  result<page<site_row>> list_sites(std::string_view tenant,
                                    bool include_deleted,
                                    std::string_view after,
                                    int limit) override {
    return ask<page<site_row>>(query::sites, [&](sql::statement& s) {
      s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
      s.bind(4, latest_end(include_deleted));
      return read_page(s, limit, read_site);
    });
  }

  result<page<pool_row>> list_pools(std::string_view tenant,
                                    bool include_archived,
                                    std::string_view after,
                                    int limit) override {
    auto text = include_archived ? query::pools : query::live_pools;
    return ask<page<pool_row>>(text, [&](sql::statement& s) {
      s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
      return read_page(s, limit, read_pool);
    });
  }

  result<page<join_token_row>> list_join_tokens(
      std::string_view tenant, std::string_view pool, bool include_inactive,
      time_point now, std::string_view after, int limit) override {
    return ask<page<join_token_row>>(
        include_inactive ? query::all_tokens : query::live_tokens,
        [&](sql::statement& s) {
          s.bind(1, tenant).bind(2, pool).bind(3, after);
          s.bind(4, one_more(limit));
          if (!include_inactive)
            s.bind(5, to_millis(now));
          return read_page(s, limit, read_token);
        });
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
    using answer = std::vector<std::int64_t>;
    return ask<answer>(query::taken_places,
                       [&](sql::statement& s) -> result<answer> {
                         s.bind(1, site).bind(2, to_millis(now));
                         answer out;
                         for (;;) {
                           BC_TRY(more, s.step());
                           if (!more)
                             return out;
                           out.push_back(s.number(0));
                         }
                       });
  }

  result<std::vector<std::string>> shared_macs(std::string_view site,
                                               time_point now) override {
    using answer = std::vector<std::string>;
    return ask<answer>(query::waiting_macs,
                       [&](sql::statement& s) -> result<answer> {
                         s.bind(1, site).bind(2, to_millis(now));
                         std::map<std::string, int> waiting;
                         for (;;) {
                           BC_TRY(more, s.step());
                           if (!more)
                             break;
                           ++waiting[s.text(0)];
                         }
                         answer out;
                         for (const auto& [mac, times] : waiting)
                           if (times > 1)
                             out.push_back(mac);
                         return out;
                       });
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
    using answer = std::optional<node_row>;
    return ask<answer>(query::one_node,
                       [&](sql::statement& s) -> result<answer> {
                         BC_TRY(found, s.bind(1, tenant).bind(2, node).step());
                         if (!found)
                           return answer{};
                         return answer{read_node(row_reader{s})};
                       });
  }

  result<certificates_of_node> list_certificates(std::string_view tenant,
                                                 std::string_view node,
                                                 time_point now,
                                                 int most) override {
    BC_TRY(newest, certificates(query::newest_certificates, tenant, node,
                                [most](sql::statement& s) {
                                  s.bind(3, std::int64_t{most});
                                }));
    BC_TRY(
        live,
        certificates(
            query::live_certificates, tenant, node, [now](sql::statement& s) {
              s.bind(3, to_millis(now)).bind(4, to_millis(now - longest_life));
            }));
    BC_TRY(total, count(query::certificates_of_node, [&](sql::statement& s) {
             s.bind(1, tenant).bind(2, node);
           }));
    return certificates_of_node{newest_first(std::move(newest), live), total};
  }

  result<std::vector<joined_request_row>> joined_requests(
      const joined_request_row& after, time_point now, int limit) override {
    using answer = std::vector<joined_request_row>;
    return ask<answer>(
        query::joined_requests, [&](sql::statement& s) -> result<answer> {
          s.bind(1, after.node)
              .bind(2, after.request)
              .bind(3, to_millis(now))
              .bind(4, std::int64_t{limit});
          answer out;
          for (;;) {
            BC_TRY(more, s.step());
            if (!more)
              return out;
            row_reader r{s};
            out.push_back({r.text(), r.text(), r.text(), r.optional_time()});
          }
        });
  }

  result<page<command_row>> list_commands(std::string_view tenant,
                                          std::string_view node,
                                          std::string_view after,
                                          int limit) override {
    constexpr std::string_view above_all = "~";
    return ask<page<command_row>>(
        query::commands_of_node, [&](sql::statement& s) {
          s.bind(1, tenant).bind(2, node);
          s.bind(3, after.empty() ? above_all : after);
          s.bind(4, one_more(limit));
          auto found = read_page(s, limit, read_command);
          if (found && found.value().next)
            found.value().next = found.value().items.back().sequence;
          return found;
        });
  }

  result<std::optional<command_row>> get_command(
      std::string_view tenant, std::string_view node,
      std::string_view command) override {
    using answer = std::optional<command_row>;
    return ask<answer>(query::one_command,
                       [&](sql::statement& s) -> result<answer> {
                         s.bind(1, tenant).bind(2, node).bind(3, command);
                         BC_TRY(found, s.step());
                         if (!found)
                           return answer{};
                         return answer{read_command(row_reader{s})};
                       });
  }

  result<std::vector<std::string>> pending_commands(std::string_view node,
                                                    time_point now,
                                                    int limit) override {
    return texts(query::pending_commands, [&](sql::statement& s) {
      s.bind(1, node)
          .bind(2, to_millis(now))
          .bind(3, std::int64_t{limit})
          .bind(4, to_millis(now - events::command::longest_lifetime));
    });
  }

  result<page<credential_row>> list_credentials(std::string_view tenant,
                                                std::string_view after,
                                                int limit) override {
    return ask<page<credential_row>>(
        query::credentials, [&](sql::statement& s) {
          s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
          return read_page(s, limit, read_credential);
        });
  }

  result<page<audit_row>> list_audit(const audit_filter& f,
                                     std::string_view after,
                                     int limit) override {
    return ask<page<audit_row>>(text_of(f), [&](sql::statement& s) {
      auto range = range_of(f, after);
      s.bind(1, f.tenant).bind(2, range.above).bind(3, range.below);
      s.bind(4, one_more(limit)).bind(5, f.action).bind(6, f.resource);
      s.bind(7, f.principal).bind(8, f.correlation);
      return read_page(s, limit, read_audit);
    });
  }

  result<std::vector<shared_hardware_row>> untold_shared_hardware(
      int limit) override {
    using answer = std::vector<shared_hardware_row>;
    return ask<answer>(
        query::untold_shared, [&](sql::statement& s) -> result<answer> {
          s.bind(1, one_more(limit));
          answer out;
          int rows = 0;
          for (;; ++rows) {
            BC_TRY(more, s.step());
            if (!more)
              break;
            row_reader r{s};
            auto node = r.text(), other = r.text();
            if (out.empty() || out.back().node != node ||
                out.back().other != other)
              out.push_back({std::move(node), std::move(other), {}});
            out.back().macs.push_back(r.text());
          }
          // The last pair may be cut short.
          if (rows > limit && out.size() > 1)
            out.pop_back();
          return out;
        });
  }

  result<std::vector<std::string>> nodes_to_warn(time_point now,
                                                 int limit) override {
    return texts(query::nodes_to_warn, [&](sql::statement& s) {
      s.bind(1, to_millis(now)).bind(2, std::int64_t{limit});
    });
  }

  result<std::optional<std::string>> next_gateway(
      std::string_view after) override {
    BC_TRY(found, texts(query::next_gateway,
                        [&](sql::statement& s) { s.bind(1, after); }));
    return found.empty() ? std::nullopt : std::optional{found.front()};
  }

  result<std::vector<std::string>> nodes_at(std::string_view gateway,
                                            int limit) override {
    return texts(query::nodes_at, [&](sql::statement& s) {
      s.bind(1, gateway).bind(2, std::int64_t{limit});
    });
  }

  result<page<node_row>> list_nodes_of_token(std::string_view tenant,
                                             std::string_view token,
                                             std::string_view after,
                                             int limit) override {
    return ask<page<node_row>>(query::nodes_of_token, [&](sql::statement& s) {
      s.bind(1, tenant).bind(2, after).bind(3, one_more(limit)).bind(4, token);
      return read_page(s, limit, read_node);
    });
  }

  result<std::uint64_t> sessions_at(std::string_view gateway) override {
    return count(query::sessions_at,
                 [&](sql::statement& s) { s.bind(1, gateway); });
  }

  result<std::uint64_t> nodes_ending(time_point after, time_point until,
                                     time_point now) override {
    return count(query::nodes_ending, [&](sql::statement& s) {
      s.bind(1, to_millis(after))
          .bind(2, to_millis(until))
          .bind(3, to_millis(now));
    });
  }

  result<std::uint64_t> commands_waiting(time_point now) override {
    return count(query::commands_waiting,
                 [&](sql::statement& s) { s.bind(1, to_millis(now)); });
  }

  result<std::optional<revocation_row>> last_revocation() override {
    using answer = std::optional<revocation_row>;
    return ask<answer>(query::last_revocation,
                       [](sql::statement& s) -> result<answer> {
                         BC_TRY(found, s.bind(1, std::int64_t{0}).step());
                         if (!found)
                           return answer{};
                         row_reader r{s};
                         return answer{{sql::of_sql(r.number()), r.time()}};
                       });
  }

  result<std::vector<revoked_row>> revoked_certificates(
      time_point ends_after, std::uint64_t position) override {
    using answer = std::vector<revoked_row>;
    return ask<answer>(
        query::revoked_certificates, [&](sql::statement& s) -> result<answer> {
          s.bind(1, to_millis(ends_after)).bind(2, sql::to_sql(position));
          answer out;
          for (;;) {
            BC_TRY(more, s.step());
            if (!more)
              return out;
            row_reader r{s};
            out.push_back({r.text(), r.time(), r.text(), r.text()});
          }
        });
  }

  result<std::uint64_t> position() override {
    std::uint64_t found = 0;
    BC_TRYV(from_->with([&](sql::connection& db) -> result<void> {
      BC_TRY(at, read_checkpoint(db));
      found = at.position;
      return ok();
    }));
    return found;
  }

  result<std::uint64_t> parked() override {
    return count("select count(*) from parked_streams", [](sql::statement&) {});
  }

 private:
  template <class Bind>
  result<std::vector<certificate_row>> certificates(std::string_view text,
                                                    std::string_view tenant,
                                                    std::string_view node,
                                                    Bind bind) {
    using answer = std::vector<certificate_row>;
    return ask<answer>(text, [&](sql::statement& s) -> result<answer> {
      s.bind(1, tenant).bind(2, node);
      bind(s);
      answer out;
      for (;;) {
        BC_TRY(more, s.step());
        if (!more)
          return out;
        row_reader r{s};
        out.push_back(read_certificate(r));
      }
    });
  }

  result<page<join_request_row>> walk_requests(const request_walk& w,
                                               std::string_view after,
                                               int limit) {
    auto text =
        w.state.empty() ? query::requests_of_scope : query::requests_by_state;
    return ask<page<join_request_row>>(text, [&](sql::statement& s) {
      s.bind(1, w.scope).bind(2, after).bind(3, one_more(limit));
      if (!w.state.empty())
        s.bind(4, w.state).bind(5, w.ends_after).bind(6, w.ends_until);
      return read_page(s, limit, read_request);
    });
  }

  result<page<node_row>> live_nodes(const node_filter& f,
                                    std::string_view after, int limit) {
    auto text = !f.pool.empty()   ? query::nodes_of_pool
                : !f.site.empty() ? query::nodes_of_site
                                  : query::nodes_of_tenant;
    return ask<page<node_row>>(text, [&](sql::statement& s) {
      s.bind(1, f.tenant).bind(2, after).bind(3, one_more(limit));
      int next = 4;
      if (!f.pool.empty())
        s.bind(next++, f.pool);
      if (!f.pool.empty() || !f.site.empty())
        s.bind(next++, f.site);
      s.bind(next, f.status);
      return read_page(s, limit, read_node);
    });
  }

  result<page<node_row>> nodes_of_status(const node_filter& f,
                                         std::string_view status,
                                         std::string_view after, int limit) {
    return ask<page<node_row>>(query::nodes_of_status, [&](sql::statement& s) {
      s.bind(1, f.tenant).bind(2, after).bind(3, one_more(limit));
      s.bind(4, status).bind(5, f.pool).bind(6, f.site);
      return read_page(s, limit, read_node);
    });
  }

  template <class Bind>
  result<std::uint64_t> count(std::string_view query, Bind bind) {
    using answer = std::uint64_t;
    return ask<answer>(query, [&](sql::statement& s) -> result<answer> {
      bind(s);
      BC_TRY(row, s.step());
      return row ? sql::of_sql(s.number(0)) : 0;
    });
  }

  // The first column of every row.
  template <class Bind>
  result<std::vector<std::string>> texts(std::string_view query, Bind bind) {
    using answer = std::vector<std::string>;
    return ask<answer>(query, [&](sql::statement& s) -> result<answer> {
      bind(s);
      answer out;
      for (;;) {
        BC_TRY(more, s.step());
        if (!more)
          return out;
        out.push_back(s.text(0));
      }
    });
  }

  template <class Answer, class Read>
  result<Answer> ask(std::string_view text, Read read) {
    Answer answer;
    BC_TRYV(from_->with([&](sql::connection& db) -> result<void> {
      BC_TRY(s, db.prepare(query::text_for(db.kind(), text)));
      BC_TRY(found, read(s));
      answer = std::move(found);
      return ok();
    }));
    return answer;
  }

  std::unique_ptr<source> from_;
};

class file_source final : public source {
 public:
  explicit file_source(std::unique_ptr<sqlite::connection> db)
      : db_(std::move(db)) {}

  result<void> with(
      const std::function<result<void>(sql::connection&)>& use) override {
    std::lock_guard lock{mutex_};
    return use(*db_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<sqlite::connection> db_;
};

}  // namespace

std::unique_ptr<queries> make_queries(std::unique_ptr<source> from) {
  return std::make_unique<sql_queries>(std::move(from));
}

result<std::unique_ptr<queries>> open_queries(const std::string& path) {
  BC_TRY(db, sqlite::connection::open(path, sqlite::mode::read_only));
  return make_queries(std::make_unique<file_source>(std::move(db)));
}

}  // namespace bc::projections
