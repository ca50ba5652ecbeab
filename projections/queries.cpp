#include "projections/queries.hpp"

#include "events/sqlite.hpp"
#include "projections/checkpoint.hpp"
#include "projections/query_texts.hpp"
#include "projections/source.hpp"

#include <mutex>

namespace bc::projections {

namespace {

// Takes a row's columns one after the other.
class row_reader {
 public:
  explicit row_reader(const sql::statement& s) : s_(s) {}

  std::string text() { return s_.text(at_++); }
  std::int64_t number() { return s_.number(at_++); }
  bool flag() { return number() != 0; }
  time_point time() { return from_millis(number()); }
  std::optional<std::string> optional_text() {
    return is_null() ? skip<std::string>() : std::optional{text()};
  }
  std::optional<time_point> optional_time() {
    return is_null() ? skip<time_point>() : std::optional{time()};
  }
  [[nodiscard]] bool is_null() const { return s_.is_null(at_); }

 private:
  template <class T>
  std::optional<T> skip() {
    ++at_;
    return std::nullopt;
  }

  const sql::statement& s_;
  int at_ = 0;
};

// Members of a braced list are read from left to right.
tenant_row read_tenant(row_reader r) {
  return {r.text(), r.text(), r.flag(), r.time()};
}

site_row read_site(row_reader r) {
  return {r.text(), r.text(), r.text(), r.text(), r.time()};
}

pool_row read_pool(row_reader r) {
  return {r.text(), r.text(), r.text(), r.text(), r.text(), r.time()};
}

join_token_row read_token(row_reader r) {
  return {r.text(),
          r.text(),
          r.text(),
          r.text(),
          r.text(),
          r.number(),
          r.number(),
          {r.optional_text(), r.optional_text(), r.optional_text(),
           r.optional_text()},
          r.flag(),
          r.optional_text(),
          r.time(),
          r.time(),
          r.optional_time()};
}

certificate_row read_certificate(row_reader& r) {
  return {r.text(),   r.text(), r.text(), r.text(),
          r.number(), r.time(), r.time(), r.optional_time()};
}

node_row read_node(row_reader r) {
  node_row n{r.text(), r.text(),   r.text(), r.text(),          r.text(),
             r.text(), r.text(),   r.text(), r.text(),          r.text(),
             r.flag(), r.number(), r.time(), r.optional_time(), std::nullopt};
  if (!r.is_null())
    n.certificate = read_certificate(r);
  return n;
}

template <class Read>
auto read_page(sql::statement& s, int limit, Read read)
    -> result<page<decltype(read(row_reader{s}))>> {
  page<decltype(read(row_reader{s}))> out;
  // One row more than asked for tells whether there is another page.
  for (;;) {
    BC_TRY(more, s.step());
    if (!more)
      break;
    if (out.items.size() == static_cast<std::size_t>(limit)) {
      out.next = out.items.back().id;
      break;
    }
    out.items.push_back(read(row_reader{s}));
  }
  return out;
}

credential_row read_credential(row_reader r) {
  return {r.text(), r.text(), r.text(), r.text(), r.time(), r.optional_time()};
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
                                    std::string_view after,
                                    int limit) override {
    return ask<page<site_row>>(query::sites, [&](sql::statement& s) {
      s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
      return read_page(s, limit, read_site);
    });
  }

  result<page<pool_row>> list_pools(std::string_view tenant,
                                    std::string_view after,
                                    int limit) override {
    return ask<page<pool_row>>(query::pools, [&](sql::statement& s) {
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

  result<page<node_row>> list_nodes(std::string_view tenant,
                                    std::string_view pool,
                                    std::string_view after,
                                    int limit) override {
    return ask<page<node_row>>(
        pool.empty() ? query::nodes_of_tenant : query::nodes_of_pool,
        [&](sql::statement& s) {
          s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
          if (!pool.empty())
            s.bind(4, pool);
          return read_page(s, limit, read_node);
        });
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

  result<std::vector<certificate_row>> list_certificates(
      std::string_view tenant, std::string_view node) override {
    using answer = std::vector<certificate_row>;
    return ask<answer>(query::certificates,
                       [&](sql::statement& s) -> result<answer> {
                         s.bind(1, tenant).bind(2, node);
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

  result<page<credential_row>> list_credentials(std::string_view tenant,
                                                std::string_view after,
                                                int limit) override {
    return ask<page<credential_row>>(
        query::credentials, [&](sql::statement& s) {
          s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
          return read_page(s, limit, read_credential);
        });
  }

  result<std::uint64_t> position() override {
    std::uint64_t found = 0;
    BC_TRYV(from_->with([&](sql::connection& db) -> result<void> {
      BC_TRY(at, read_checkpoint(db));
      found = at;
      return ok();
    }));
    return found;
  }

  result<std::uint64_t> parked() override {
    using answer = std::uint64_t;
    return ask<answer>("select count(*) from parked_streams",
                       [](sql::statement& s) -> result<answer> {
                         BC_TRY(row, s.step());
                         return row ? static_cast<answer>(s.number(0)) : 0;
                       });
  }

 private:
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
