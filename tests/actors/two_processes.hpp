#pragma once

#include "actors/runtime.hpp"
#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/credential.hpp"
#include "events/refusal.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/actors/watched_journal.hpp"

#include <rapidjson/pointer.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>

namespace bc::test {

using actors::api_reply;
using actors::daemon_reply;

constexpr milliseconds no_tail{3'600'000};

/// Collects replies from any thread.
template <class Reply>
class collected {
 public:
  std::function<void(Reply)> take() {
    return [this](Reply r) {
      std::lock_guard lock{mutex_};
      replies_.push_back(std::move(r));
      more_.notify_all();
    };
  }
  std::vector<Reply> wait_for(std::size_t n) {
    std::unique_lock lock{mutex_};
    more_.wait(lock, [&] { return replies_.size() >= n; });
    return replies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Reply> replies_;
};

inline std::string at(const std::string& body, const char* pointer) {
  auto doc = json::parse(body);
  REQUIRE(doc.has_value());
  const auto* found = rapidjson::Pointer{pointer}.Get(doc.value());
  if (found == nullptr)
    return {};
  return found->IsString() ? found->GetString() : json::to_text(*found);
}

/// Read models that are as far as the test says.
class late_models final : public sample_queries {
 public:
  result<std::uint64_t> position() override {
    ++asked;
    return reached.load();
  }
  std::atomic<std::uint64_t> reached = 0;
  std::atomic<int> asked = 0;
};

/// One server process.
struct process {
  explicit process(events::journal& store) : journal(store) {
    journal.shared = true;
  }
  daemon_reply join(const join_world& w, const machine& m,
                    const std::string& token) {
    collected<daemon_reply> one;
    server->daemons().call({wire::encode(w.request(m, token)), "req", {}},
                           one.take());
    return one.wait_for(1).front();
  }
  api_reply call(const std::string& method, const std::string& key,
                 const std::string& body, const std::string& position = {}) {
    collected<api_reply> one;
    auto dot = method.find('.');
    server->api().call({method.substr(0, dot), method.substr(dot + 1),
                        "Bearer " + key, body, "req", position},
                       one.take());
    return one.wait_for(1).front();
  }

  watched_journal journal;
  late_models models;
  std::unique_ptr<actors::runtime> server;
};

/// Two runtimes that know nothing of each other but what the journal tells.
class two_processes {
 public:
  two_processes() = default;
  /// Each on a connection of its own to one store.
  explicit two_processes(const open_journal& open)
      : w(open), second_(open(w.time)) {}

  void start(milliseconds tail = milliseconds{200}) {
    for (auto* p : {&a, &b}) {
      actors::runtime_options o;
      o.journal = &p->journal;
      o.queries = &p->models;
      o.time = &w.time;
      o.keys = w.keys;
      o.root_tenant = w.root;
      o.tail_every = tail;
      p->server = actors::runtime::start(std::move(o)).value();
    }
  }
  void stop() {
    a.server->stop(seconds{30});
    b.server->stop(seconds{30});
  }

  /// A credential of the tenant that may do everything.
  std::string credential() {
    auto secret = to_base64url(pki::random_bytes(32));
    events::credential::created c{pki::mint<credential_id>(w.time.now()),
                                  w.owner,
                                  "alice",
                                  {{"*", "*"}},
                                  w.time.now(),
                                  to_hex(pki::sha256(as_bytes(secret)))};
    w.append<events::credential::event>(events::stream_of(c.id), c, w.owner);
    return c.id.str() + "." + secret;
  }

  std::string create_input(const std::string& idempotency_key) {
    return "{\"tenantId\":\"" + w.owner.str() + "\",\"poolId\":\"" +
           w.pool.str() + "\",\"maxUses\":5,\"ttlSeconds\":3600," +
           "\"idempotencyKey\":\"" + idempotency_key + "\"}";
  }

  /// The first append of each process waits for the other's.
  void race_first_appends() {
    for (auto* p : {&a, &b})
      p->journal.before_append = [this, first = true]() mutable {
        if (std::exchange(first, false))
          meeting_.arrive_and_wait();
      };
  }

  /// Refusals of a reason: as events, and in all.
  std::pair<std::size_t, std::uint64_t> refusals(const tenant_id& of,
                                                 const char* reason) {
    auto stream = events::refusal_stream(of, "join-token", reason);
    auto all = w.journal->read_stream(stream, 0, 10'000).value();
    auto sum = w.journal->read_limiter(stream).value().dropped;
    for (const auto& e : all)
      sum += 1 + std::get<events::refusal::refused>(
                     events::refusal::decode(e).value())
                     .suppressed;
    return {all.size(), sum};
  }

  void check_journal() {
    CHECK(w.journal->verify({events::moves_of}).has_value());
  }

  join_world w;

 private:
  std::unique_ptr<events::journal> second_;  // null: the first one's
  std::barrier<> meeting_{2};

 public:
  process a{*w.journal}, b{second_ ? *second_ : *w.journal};
};

inline minted many_uses(join_world& w, std::int64_t uses) {
  return w.mint_token(
      [uses](events::join_token::created& t) { t.max_uses = uses; });
}

}  // namespace bc::test
