#include "events/gateway_presence.hpp"

#include "events/postgres_pool.hpp"

#include <functional>
#include <map>
#include <mutex>

namespace bc::events {

namespace {

constexpr seconds memory_of_gateways{86'400};

class memory_presence final : public gateway_presence {
 public:
  explicit memory_presence(const clock& time) : time_(time) {}

  result<void> seen(std::span<const std::string> gateways) override {
    const auto now = time_.now();
    std::lock_guard lock{mutex_};
    for (const auto& g : gateways)
      last_[g] = now;
    std::erase_if(last_, [now](const auto& row) {
      return now - row.second > memory_of_gateways;
    });
    return ok();
  }

  result<std::optional<milliseconds>> silent_for(
      std::string_view gateway) override {
    std::lock_guard lock{mutex_};
    auto found = last_.find(gateway);
    if (found == last_.end())
      return std::optional<milliseconds>{};
    return std::optional{time_.now() - found->second};
  }

 private:
  const clock& time_;
  std::mutex mutex_;
  std::map<std::string, time_point, std::less<>> last_;
};

class postgres_presence final : public gateway_presence {
 public:
  explicit postgres_presence(const std::string& url) : pool_(url, 1, {}) {}

  result<void> seen(std::span<const std::string> gateways) override {
    return with([&](sql::connection& db) -> result<void> {
      for (const auto& g : gateways) {
        BC_TRY(put,
               db.prepare("insert into gateways_seen (gateway, seen_ms)"
                          " values (?, store_now_ms()) on conflict (gateway)"
                          " do update set seen_ms = excluded.seen_ms"));
        BC_TRYV(put.bind(1, g).run());
      }
      BC_TRY(forget, db.prepare("delete from gateways_seen"
                                " where seen_ms < store_now_ms() - ?"));
      return forget.bind(1, milliseconds{memory_of_gateways}.count()).run();
    });
  }

  result<std::optional<milliseconds>> silent_for(
      std::string_view gateway) override {
    std::optional<milliseconds> out;
    BC_TRYV(with([&](sql::connection& db) -> result<void> {
      BC_TRY(ask, db.prepare("select store_now_ms() - seen_ms"
                             " from gateways_seen where gateway = ?"));
      BC_TRY(found, ask.bind(1, gateway).step());
      out = found ? std::optional{milliseconds{ask.number(0)}} : std::nullopt;
      return ok();
    }));
    return out;
  }

 private:
  // Whatever it does may be done twice.
  result<void> with(const std::function<result<void>(sql::connection&)>& use) {
    BC_TRY(db, postgres::begin_on(pool_, use));
    static_cast<void>(db);
    return ok();
  }

  postgres::pool pool_;
};

}  // namespace

std::unique_ptr<gateway_presence> make_memory_presence(const clock& time) {
  return std::make_unique<memory_presence>(time);
}

std::unique_ptr<gateway_presence> make_postgres_presence(
    const std::string& url) {
  return std::make_unique<postgres_presence>(url);
}

}  // namespace bc::events
