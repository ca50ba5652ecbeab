#include "events/postgres.hpp"
#include "events/postgres_trust.hpp"
#include "events/sqlite.hpp"
#include "ops/cli/doctor.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/serve/identity.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"
#include "projections/checkpoint.hpp"

#include <cstdlib>

namespace bc::cli {

namespace {

constexpr milliseconds small_offset{1'000};
// Beyond this a daemon's proof is out of its window.
constexpr milliseconds great_offset{60'000};
constexpr std::uint64_t small_lag = 1'000;

using connection_ptr = std::unique_ptr<sql::connection>;

result<connection_ptr> connect(const store::location& where) {
  if (where.what == store::kind::sqlite) {
    BC_TRY(db, sqlite::connection::open(where.target, sqlite::mode::read_only));
    return connection_ptr{std::move(db)};
  }
  BC_TRY(db, postgres::connection::open(where.target));
  return connection_ptr{std::move(db)};
}

finding failed(const char* check, const fault& why, std::string advice) {
  return {check, verdict::failed, why.message, std::move(advice)};
}

finding skipped(const char* check, std::string why) {
  return {check, verdict::skipped, std::move(why), {}};
}

// By which what expires is judged; an SQLite store goes by this machine's.
result<time_point> store_time(sql::connection& db, const clock& time) {
  if (db.kind() == sql::dialect::sqlite)
    return time.now();
  BC_TRY(s, db.prepare("select store_now_ms()"));
  BC_TRY(row, s.step());
  if (!row)
    return fail(errc::internal, "the store has no clock");
  return from_millis(s.number(0));
}

// Between two looks at the local clock, so that a slow answer is no offset.
result<milliseconds> clock_offset(sql::connection& db, const clock& time) {
  auto before = time.now();
  BC_TRY(stored, store_time(db, time));
  auto after = time.now();
  if (stored < before)
    return std::chrono::duration_cast<milliseconds>(stored - before);
  if (stored > after)
    return std::chrono::duration_cast<milliseconds>(stored - after);
  return milliseconds{0};
}

finding look_at_clock(sql::connection& db, const clock& time) {
  constexpr auto* check = "clock";
  if (db.kind() == sql::dialect::sqlite)
    return {check, verdict::ok, "the store goes by this machine's clock", {}};
  auto offset = clock_offset(db, time);
  if (!offset)
    return failed(check, offset.error(), "look at the database's log");
  auto apart = std::chrono::abs(offset.value());
  finding out{check,
              verdict::ok,
              "the store's clock is " + std::to_string(offset.value().count()) +
                  " ms from this machine's",
              {}};
  if (apart <= small_offset)
    return out;
  out.how = apart > great_offset ? verdict::failed : verdict::warning;
  out.advice =
      "set both clocks by NTP: what expires is judged by the store's clock";
  return out;
}

result<finding> read_lease(sql::connection& db, const clock& time) {
  BC_TRY(s, db.prepare("select holder, epoch, expires_ms from lease"));
  BC_TRY(row, s.step());
  const std::string advice =
      "no read model, Kafka topic or checkpoint moves on without it: is a "
      "server running? see its log";
  if (!row)
    return finding{"lease", verdict::warning, "nobody ever held the lease",
                   advice};
  auto who = s.text(0) + " (epoch " + std::to_string(s.number(1)) + ")";
  auto ends = from_millis(s.number(2));
  BC_TRY(now, store_time(db, time));
  if (now < ends)
    return finding{"lease", verdict::ok, "held by " + who, {}};
  return finding{"lease", verdict::warning,
                 "nobody holds the lease; last was " + who, advice};
}

finding look_at_lease(sql::connection& db, const clock& time) {
  auto found = read_lease(db, time);
  return found ? found.value() : failed("lease", found.error(), {});
}

finding look_at_read_models(sql::connection& db, std::uint64_t head) {
  constexpr auto* check = "read models";
  auto at = projections::read_checkpoint(db);
  if (!at)
    return failed(check, at.error(), "run: better-compute projections rebuild");
  if (!projections::is_ours(at.value()))
    return {check, verdict::warning, projections::not_ours(at.value()), {}};
  auto position = at.value().position;
  auto lag = head - std::min(head, position);
  auto text = "at position " + std::to_string(position) + ", " +
              std::to_string(lag) + " events behind the journal";
  if (lag <= small_lag)
    return {check, verdict::ok, text, {}};
  return {check, verdict::warning, text,
          "the lease's holder fills them: see its log"};
}

finding look_at_parked(sql::connection& db) {
  constexpr auto* check = "parked streams";
  auto parked = projections::load_parked(db);
  if (!parked)
    return failed(check, parked.error(), {});
  if (parked.value().empty())
    return {check, verdict::ok, "none", {}};
  const auto& [stream, why] = *parked.value().begin();
  return {check, verdict::failed,
          std::to_string(parked.value().size()) + ", first " + stream +
              " from position " + std::to_string(why.position) + ": " +
              why.reason,
          "run a program version that knows the event, then: better-compute "
          "projections rebuild"};
}

std::shared_ptr<const pki::key_bundle> look_at_keys(findings& out,
                                                    events::journal& journal,
                                                    const patient& p) {
  constexpr auto* check = "keys";
  if (p.secret_file.empty() && !std::getenv("BETTER_COMPUTE_SECRET")) {
    out.push_back(
        skipped(check,
                "no secret: give --secret-file (BETTER_COMPUTE_SECRET_FILE) or "
                "BETTER_COMPUTE_SECRET"));
    return nullptr;
  }
  auto secret = serve::deployment_secret(p.secret_file);
  if (!secret) {
    out.push_back(
        failed(check, secret.error(), "give the deployment's secret"));
    return nullptr;
  }
  auto keys = serve::load_keys(journal, secret.value());
  if (!keys) {
    out.push_back(failed(check, keys.error(),
                         "give the secret the keys were made with; without it "
                         "no server can join a machine"));
    return nullptr;
  }
  if (!keys.value()) {
    out.push_back(
        {check, verdict::failed, "the store has no keys",
         "run: better-compute pki init --trust-domain NAME --store URL"});
    return nullptr;
  }
  out.push_back({check,
                 verdict::ok,
                 "the secret opens the keys of " + keys.value()->trust_domain,
                 {}});
  return keys.value();
}

void look_at_authorities(findings& out, const pki::key_bundle& keys,
                         const clock& time) {
  auto all = serve::dated(keys);
  if (!all)
    return out.push_back(failed("certificates", all.error(), {}));
  for (const auto& one : all.value())
    out.push_back(expiry_finding(one, time.now()));
}

void look_into(findings& out, const store::location& where, const clock& time,
               std::uint64_t head) {
  auto db = connect(where);
  if (!db) {
    out.push_back(failed("clock", db.error(), {}));
    return;
  }
  out.push_back(look_at_clock(*db.value(), time));
  out.push_back(look_at_lease(*db.value(), time));
  out.push_back(look_at_read_models(*db.value(), head));
  out.push_back(look_at_parked(*db.value()));
}

std::string advice_for(const fault& why) {
  if (why.code == errc::invalid_state)
    return "bring store and program to one version: better-compute migrate "
           "--store URL, with the newer program";
  if (why.code == errc::unavailable)
    return "is the database running, and does it let this machine in?";
  return "check the store's URL";
}

}  // namespace

findings examine_store(const patient& p, const clock& time,
                       std::shared_ptr<const pki::key_bundle>& keys) {
  findings out;
  if (p.store_url.empty()) {
    out.push_back(skipped("store", "not given: --store or --config"));
    return out;
  }
  auto where = store::parse_url(p.store_url);
  if (!where)
    return {failed("store", where.error(), {})};
  auto journal = store::open_reader(where.value(), time);
  if (!journal)
    return {failed("store", journal.error(), advice_for(journal.error()))};
  auto head = journal.value()->head();
  if (!head)
    return {failed("store", head.error(), advice_for(head.error()))};
  out.push_back({"store",
                 verdict::ok,
                 store::shown(where.value()) + " at position " +
                     std::to_string(head.value().position) +
                     ", of this program's schema",
                 {}});
  if (where.value().what == store::kind::postgres &&
      !postgres::checks_server(where.value().target))
    out.push_back({"store", verdict::warning,
                   "the way to it crosses a network, and nobody checks that it "
                   "is the store",
                   "say sslmode=verify-full in its URL"});
  keys = look_at_keys(out, *journal.value(), p);
  if (keys)
    look_at_authorities(out, *keys, time);
  auto root = serve::find_root_tenant(*journal.value());
  if (!root)
    out.push_back(failed("root tenant", root.error(), {}));
  else if (!root.value())
    out.push_back({"root tenant", verdict::failed, "there is none",
                   "run: better-compute credentials bootstrap --store URL "
                   "--out FILE"});
  look_into(out, where.value(), time, head.value().position);
  return out;
}

}  // namespace bc::cli
