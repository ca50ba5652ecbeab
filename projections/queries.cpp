#include "projections/queries.hpp"

#include "events/sqlite.hpp"
#include "projections/query_texts.hpp"

#include <mutex>

namespace bc::projections {

namespace {

// Takes a row's columns one after the other.
class row_reader {
 public:
  explicit row_reader(const sqlite::statement& s) : s_(s) {}

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

  const sqlite::statement& s_;
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
auto read_page(sqlite::statement& s, int limit, Read read)
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

class sqlite_queries final : public queries {
 public:
  explicit sqlite_queries(std::unique_ptr<sqlite::connection> db)
      : db_(std::move(db)) {}

  result<page<tenant_row>> list_tenants(std::string_view after,
                                        int limit) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(query::tenants));
    s.bind(1, after).bind(2, one_more(limit));
    return read_page(s, limit, read_tenant);
  }

  result<page<site_row>> list_sites(std::string_view tenant,
                                    std::string_view after,
                                    int limit) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(query::sites));
    s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
    return read_page(s, limit, read_site);
  }

  result<page<pool_row>> list_pools(std::string_view tenant,
                                    std::string_view after,
                                    int limit) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(query::pools));
    s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
    return read_page(s, limit, read_pool);
  }

  result<page<join_token_row>> list_join_tokens(
      std::string_view tenant, std::string_view pool, bool include_inactive,
      time_point now, std::string_view after, int limit) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(include_inactive ? query::all_tokens
                                            : query::live_tokens));
    s.bind(1, tenant).bind(2, pool).bind(3, after).bind(4, one_more(limit));
    if (!include_inactive)
      s.bind(5, to_millis(now));
    return read_page(s, limit, read_token);
  }

  result<page<node_row>> list_nodes(std::string_view tenant,
                                    std::string_view pool,
                                    std::string_view after,
                                    int limit) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(pool.empty() ? query::nodes_of_tenant
                                        : query::nodes_of_pool));
    s.bind(1, tenant).bind(2, after).bind(3, one_more(limit));
    if (!pool.empty())
      s.bind(4, pool);
    return read_page(s, limit, read_node);
  }

  result<std::optional<node_row>> get_node(std::string_view tenant,
                                           std::string_view node) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(query::one_node));
    BC_TRY(found, s.bind(1, tenant).bind(2, node).step());
    if (!found)
      return std::optional<node_row>{};
    return std::optional{read_node(row_reader{s})};
  }

  result<std::vector<certificate_row>> list_certificates(
      std::string_view tenant, std::string_view node) override {
    std::lock_guard lock{mutex_};
    BC_TRY(s, db_->prepare(query::certificates));
    s.bind(1, tenant).bind(2, node);
    std::vector<certificate_row> out;
    for (;;) {
      BC_TRY(more, s.step());
      if (!more)
        return out;
      row_reader r{s};
      out.push_back(read_certificate(r));
    }
  }

 private:
  static std::int64_t one_more(int limit) { return std::int64_t{limit} + 1; }

  std::mutex mutex_;
  std::unique_ptr<sqlite::connection> db_;
};

}  // namespace

result<std::unique_ptr<queries>> open_queries(const std::string& path) {
  BC_TRY(db, sqlite::connection::open(path, sqlite::mode::read_only));
  return std::unique_ptr<queries>{
      std::make_unique<sqlite_queries>(std::move(db))};
}

}  // namespace bc::projections
