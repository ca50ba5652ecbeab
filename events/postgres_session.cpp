#include "events/postgres_session.hpp"

#include "events/postgres_text.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <memory>
#include <poll.h>
#include <vector>

namespace bc::postgres::detail {

namespace {

using steady = std::chrono::steady_clock;

constexpr milliseconds diagnosis{5'000};

// Before the URL's own options, which win. Shorter than the usual silence, so
// that the server is heard first, and one that is given up does not go on for
// long behind our back. The TCP ones are of the server, which else keeps the
// locks of a machine that is gone for as long as it is in no statement's time.
constexpr const char* bounded_options =
    "-c statement_timeout=8s -c lock_timeout=5s "
    "-c idle_in_transaction_session_timeout=10s "
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 "
    "-c tcp_keepalives_count=3 -c tcp_user_timeout=10000 ";
// After them. Times are bigint everywhere; the zone is for the rest.
constexpr const char* fixed_options =
    " -c TimeZone=UTC -c DateStyle=ISO -c client_min_messages=warning";
constexpr const char* endless_options =
    " -c statement_timeout=0 -c lock_timeout=60s "
    "-c idle_in_transaction_session_timeout=0";

struct parameters {
  std::vector<std::pair<const char*, std::string>> pairs;

  [[nodiscard]] PGconn* connect(PGconn* (*how)(const char* const*,
                                               const char* const*, int)) const {
    std::vector<const char*> keys;
    std::vector<const char*> values;
    for (const auto& [key, value] : pairs) {
      keys.push_back(key);
      values.push_back(value.c_str());
    }
    keys.push_back(nullptr);
    values.push_back(nullptr);
    return how(keys.data(), values.data(), 1);
  }
};

result<std::string> options_in(const std::string& url) {
  char* words = nullptr;
  std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed{
      PQconninfoParse(url.c_str(), &words), &PQconninfoFree};
  // libpq's words may repeat a part of the password.
  PQfreemem(words);
  if (!parsed)
    return fail(errc::invalid_config,
                "the store's URL is not one of "
                "postgres://USER@HOST:PORT/DATABASE?NAME=VALUE…");
  for (const auto* o = parsed.get(); o->keyword != nullptr; ++o)
    if (o->keyword == std::string_view{"options"} && o->val != nullptr)
      return std::string{o->val};
  return std::string{};
}

// What stands before `dbname` (the URL) is a default; what stands after it
// holds in any case.
parameters parameters_of(const std::string& url, const std::string& options,
                         patience p) {
  return {{
      {"fallback_application_name", "better-compute"},
      {"connect_timeout", "3"},
      {"keepalives", "1"},
      {"keepalives_idle", "10"},
      {"keepalives_interval", "5"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "10000"},
      {"target_session_attrs", "read-write"},
      {"dbname", url},
      {"client_encoding", "UTF8"},
      {"options", bounded_options + options + fixed_options +
                      (p == patience::endless ? endless_options : "")},
  }};
}

// "FATAL:  28P01: password authentication failed …"; the severity's name may
// be in any language.
std::string state_in(std::string_view words) {
  constexpr std::size_t length = 5;
  for (auto at = words.find(":  "); at != std::string_view::npos;
       at = words.find(":  ", at + 1)) {
    auto state = words.substr(at + 3, length);
    if (words.substr(at + 3 + state.size(), 1) == ":" &&
        std::all_of(state.begin(), state.end(), [](unsigned char c) {
          return std::isdigit(c) != 0 || std::isupper(c) != 0;
        }))
      return std::string{state};
  }
  return {};
}

bool wait_for(PGconn* pg, short events, int timeout_ms) {
  pollfd socket{PQsocket(pg), events, 0};
  int ready = 0;
  do {
    ready = ::poll(&socket, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// libpq tells the SQLSTATE of a refused connection in words alone, and only
// when asked before: so it is asked again.
std::string diagnosed(const parameters& how) {
  std::unique_ptr<PGconn, decltype(&PQfinish)> pg{
      how.connect(PQconnectStartParams), &PQfinish};
  if (!pg || PQstatus(pg.get()) == CONNECTION_BAD)
    return {};
  PQsetErrorVerbosity(pg.get(), PQERRORS_VERBOSE);
  auto until = steady::now() + diagnosis;
  auto step = PGRES_POLLING_WRITING;
  while (step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING) {
    auto left = std::chrono::duration_cast<milliseconds>(until - steady::now());
    short events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (left.count() <= 0 ||
        !wait_for(pg.get(), events, static_cast<int>(left.count())))
      return {};
    step = PQconnectPoll(pg.get());
  }
  return state_in(PQerrorMessage(pg.get()));
}

// "FATAL:  …": libpq's own words have no two blanks. Without an answer there is
// nothing to ask about again.
bool was_answered(std::string_view words) {
  return words.find(":  ") != std::string_view::npos;
}

fault cannot_connect(const PGconn* pg, const parameters& how) {
  auto words = one_line(pg == nullptr ? "out of memory" : PQerrorMessage(pg));
  std::string state;
  if (pg != nullptr && PQconnectionNeedsPassword(pg) == 1)
    state = "28P01";
  else if (pg != nullptr && was_answered(PQerrorMessage(pg)))
    state = diagnosed(how);
  if (state.starts_with("28"))
    return fail(errc::invalid_config, "the database refused the login", {},
                words);
  if (state == "3D000")
    return fail(errc::invalid_config, "the database does not exist", {}, words);
  return fail(errc::unavailable, "the database cannot be reached", {}, words);
}

}  // namespace

result<session> session::open(const std::string& url, patience p) {
  BC_TRY(options, options_in(url));
  auto how = parameters_of(url, options, p);
  session s{how.connect(PQconnectdbParams)};
  if (s.pg_ == nullptr || PQstatus(s.pg_) != CONNECTION_OK)
    return cannot_connect(s.pg_, how);
  s.hear_warnings();
  if (PQsetnonblocking(s.pg_, 1) != 0)
    return fail(errc::unavailable, "the database cannot be reached", {},
                PQerrorMessage(s.pg_));
  if (p == patience::bounded)
    s.silence_ = usual_silence;
  return s;
}

session::~session() {
  PQfinish(pg_);
}

// The plain kind: others are of statements that did nothing, say of an empty
// transaction.
void session::hear_warnings() {
  PQsetNoticeReceiver(
      pg_,
      [](void* warned, const PGresult* notice) {
        const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
        if (state != nullptr && state == std::string_view{"01000"})
          *static_cast<bool*>(warned) = true;
      },
      warned_.get());
}

void session::begin_request() {
  until_ = steady::now() + whole_;
}

int session::patience_left() const {
  if (!silence_)
    return -1;
  auto left = std::chrono::ceil<milliseconds>(until_ - steady::now());
  left = std::clamp(left, milliseconds{0}, *silence_);
  return static_cast<int>(left.count());
}

result<void> session::wait(short events) {
  if (wait_for(pg_, events, patience_left()))
    return ok();
  return std::move(failure_of("", "the server gave no answer in time").why);
}

result<void> session::flush() {
  for (;;) {
    int left = PQflush(pg_);
    if (left == 0)
      return ok();
    if (left < 0)
      return std::move(failure_of("", PQerrorMessage(pg_)).why);
    // The server may be waiting until its answers are read.
    BC_TRYV(wait(POLLIN | POLLOUT));
    if (PQconsumeInput(pg_) != 1)
      return std::move(failure_of("", PQerrorMessage(pg_)).why);
  }
}

result<pg_result*> session::next() {
  while (PQisBusy(pg_) == 1) {
    BC_TRYV(wait(POLLIN));
    // On a lost connection PQgetResult tells why.
    if (PQconsumeInput(pg_) != 1)
      break;
  }
  return PQgetResult(pg_);
}

}  // namespace bc::postgres::detail
