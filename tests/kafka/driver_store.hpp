#pragma once

#include "base/errc.hpp"
#include "events/event_names.hpp"
#include "events/journal_stream.hpp"
#include "events/memory_journal.hpp"
#include "events/postgres_journal.hpp"
#include "events/sqlite_journal.hpp"
#include "pki/digest.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

/// A journal for the publisher's driver, and events to put into it.
namespace bc::testing {

/// The test ends too when this program does.
[[noreturn]] inline void give_up(const fault& f) {
  std::cerr << wire_text(f.code) << ": " << f.message << " " << f.detail
            << std::endl;
  std::exit(2);
}

template <class T>
T must(result<T> r) {
  if (!r)
    give_up(r.error());
  return std::move(r).value();
}

inline void must(result<void> r) {
  if (!r)
    give_up(r.error());
}

inline std::unique_ptr<events::journal> open_store(const std::string& url,
                                                   const clock& time) {
  if (url == "memory:")
    return events::make_memory_journal(time);
  if (url.starts_with("postgres:")) {
    must(events::migrate_postgres(url));
    return must(events::open_postgres_journal(url));
  }
  return must(events::open_sqlite_journal(url, time, nullptr));
}

/// Makes events, no two alike.
class event_maker {
 public:
  explicit event_maker(const clock& time) : time_(time) {}

  static std::string tenant(int number) {
    std::array<std::uint8_t, 10> tail{};
    tail.back() = static_cast<std::uint8_t>(number);
    return tenant_id::time_ordered(from_millis(1'700'000'000'000), tail).str();
  }

  events::batch batch_of(events::stream_write write) {
    events::batch b;
    b.id = pki::mint<batch_id>(time_.now());
    b.actor = "system";
    b.correlation = "req_" + std::to_string(count_);
    b.writes.push_back(std::move(write));
    return b;
  }

  // Every seventh event has no public form.
  events::stream_write write(int tenants) {
    const auto n = count_++;
    if (n % 7 == 6)
      return {
          "pki:" + std::to_string(n),
          tenant(0),
          std::nullopt,
          {{std::string{events::name::pki_initialized}, 1, "{}", "{}", {}}}};
    auto data = "{\"nodeId\":\"node_" + std::to_string(n) +
                "\",\"adoptedAt\":\"2026-11-30T00:00:00.000Z\"}";
    auto type =
        n % 2 ? events::name::node_adopted : events::name::tenant_created;
    if (type == events::name::tenant_created)
      data = "{\"tenantId\":\"" + std::to_string(n) + "\",\"name\":\"" +
             std::string(200, 'n') + "\"}";
    return {"node:" + std::to_string(n),
            tenant(static_cast<int>(n) % tenants),
            std::nullopt,
            {{std::string{type}, 1, data, "{}", {}}}};
  }

 private:
  const clock& time_;
  std::uint64_t count_ = 0;
};

}  // namespace bc::testing
