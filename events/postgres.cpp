#include "events/postgres.hpp"

#include "events/postgres_session.hpp"
#include "events/postgres_text.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <optional>
#include <unordered_map>
#include <utility>

namespace bc::postgres {

namespace {

std::atomic<std::uint64_t> trips{0};

struct entry {
  std::string name;
  std::string text;
  bool is_prepared = false;
  bool is_sent = false;  // in the round trip that is being made
};

class live_connection final : public connection {
 public:
  explicit live_connection(detail::session s) : session_(std::move(s)) {}

  sql::dialect kind() const override { return sql::dialect::postgres; }
  result<sql::statement> prepare(std::string_view sql) override;
  result<void> execute(const std::string& script) override;
  result<std::vector<rows>> run(std::span<const call> calls) override;
  std::int64_t changes() const override { return changes_; }
  bool in_transaction() const override {
    auto status = PQtransactionStatus(pg());
    return status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN;
  }
  bool is_alive() const override { return !dead_; }
  std::string_view state() const override { return state_; }
  void allow_silence(milliseconds most, milliseconds whole) override {
    session_.allow_silence(most, whole);
  }
  void abandon() override { dead_ = true; }
  void begin_pipeline() override { pipeline_.emplace(); }
  result<void> flush() override;
  result<void> expect_changes(std::int64_t rows) override;

  /// In a pipeline: sends the call, whose answer the flush waits for. False
  /// outside of one.
  bool queue(const call& c);

 private:
  /// One command of a round trip: a call, or its statement being prepared.
  struct sent {
    entry* statement;
    bool is_preparing;
  };

  struct pipeline {
    std::vector<sent> commands;
    std::vector<std::optional<std::int64_t>> expected;  // rows changed by each
    std::optional<fault> refused;                       // why no more is sent
  };

  result<void> send(const call& c, std::vector<sent>& commands);
  bool send_call(entry& e, const call& c);
  result<std::vector<rows>> finish(const std::vector<sent>& commands);
  result<std::vector<rows>> receive(const std::vector<sent>& commands);
  result<std::optional<rows>> receive_one(const sent& command,
                                          std::optional<fault>& first);
  entry& statement_of(std::string_view sql);
  PGconn* pg() const { return session_.get(); }
  fault note(const PGresult* r);
  fault broken(std::string_view words);
  fault gone() const {
    return fail(errc::unavailable, "the database cannot be reached", {},
                "the connection was lost before");
  }
  result<void> check_no_pipeline() const {
    if (pipeline_)
      return fail(errc::internal, "a pipeline is not flushed yet");
    return ok();
  }

  detail::session session_;
  std::unordered_map<std::string, entry> statements_;
  std::optional<pipeline> pipeline_;
  std::int64_t changes_ = 0;
  bool dead_ = false;
  std::string state_;
};

/// A statement on its way through the portable interface.
class live_cursor final : public sql::cursor {
 public:
  live_cursor(live_connection& db, std::string_view sql)
      : db_(db), call_{sql, {}} {}

  void bind_text(int index, std::string_view text) override {
    at(index) = argument{text};
  }
  void bind_number(int index, std::int64_t number) override {
    at(index) = argument{number};
  }
  void bind_null(int index) override { at(index) = argument{}; }

  result<bool> step() override {
    if (!answer_ && db_.queue(call_))
      return false;
    if (!answer_) {
      BC_TRY(answers, db_.run({&call_, 1}));
      answer_ = std::move(answers.front());
    } else if (row_ < answer_->count()) {
      ++row_;
    }
    return row_ < answer_->count();
  }

  std::string text(int column) const override {
    return std::string{answer_->text(row_, column)};
  }
  std::int64_t number(int column) const override {
    return answer_->number(row_, column);
  }
  bool is_null(int column) const override {
    return answer_->is_null(row_, column);
  }

 private:
  argument& at(int index) {
    auto i = static_cast<std::size_t>(index);
    if (call_.arguments.size() < i)
      call_.arguments.resize(i);
    return call_.arguments[i - 1];
  }

  live_connection& db_;
  call call_;
  std::optional<rows> answer_;
  int row_ = 0;
};

entry& live_connection::statement_of(std::string_view sql) {
  auto [i, is_new] = statements_.try_emplace(std::string{sql});
  if (is_new) {
    i->second.name = "s" + std::to_string(statements_.size());
    i->second.text = detail::numbered(sql);
  }
  return i->second;
}

fault live_connection::note(const PGresult* r) {
  const char* state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
  const char* words = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
  state_ = state == nullptr ? "" : state;
  auto failed = detail::failure_of(
      state_, words == nullptr ? PQresultErrorMessage(r) : words);
  dead_ = dead_ || failed.is_fatal || PQstatus(pg()) == CONNECTION_BAD;
  return std::move(failed.why);
}

fault live_connection::broken(std::string_view words) {
  dead_ = true;
  state_.clear();
  return std::move(detail::failure_of("", words).why);
}

result<sql::statement> live_connection::prepare(std::string_view sql) {
  if (dead_)
    return gone();
  return sql::statement{std::make_unique<live_cursor>(*this, sql)};
}

bool live_connection::send_call(entry& e, const call& c) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const auto& a : c.arguments) {
    values.push_back(a.is_null() ? nullptr : a.bytes().c_str());
    lengths.push_back(static_cast<int>(a.bytes().size()));
    formats.push_back(a.is_binary() ? 1 : 0);
  }
  return PQsendQueryPrepared(pg(), e.name.c_str(),
                             static_cast<int>(values.size()), values.data(),
                             lengths.data(), formats.data(), 0) == 1;
}

result<void> check_texts(const call& c) {
  for (const auto& a : c.arguments)
    // As a parameter in text form it would be cut short there.
    if (!a.is_binary() && a.bytes().find('\0') != std::string::npos)
      return fail(errc::internal, "a text with a NUL cannot be stored");
  return ok();
}

// As far as the socket takes it: the server works on it meanwhile.
result<void> live_connection::send(const call& c, std::vector<sent>& commands) {
  auto& e = statement_of(c.sql);
  bool good = PQenterPipelineMode(pg()) == 1;
  if (good && !e.is_prepared && !e.is_sent) {
    good = PQsendPrepare(pg(), e.name.c_str(), e.text.c_str(), 0, nullptr) == 1;
    e.is_sent = true;
    commands.push_back({&e, true});
  }
  if (!good || !send_call(e, c))
    return broken(PQerrorMessage(pg()));
  commands.push_back({&e, false});
  return ok();
}

// Answers the call's rows, or nothing: prepared, failed, or not run because
// one before it failed.
result<std::optional<rows>> live_connection::receive_one(
    const sent& command, std::optional<fault>& first) {
  const bool commits =
      !command.is_preparing && command.statement->text.starts_with("commit");
  static_cast<void>(session_.was_warned());
  BC_TRY(answer, session_.next());
  if (answer == nullptr)
    return broken("the server sent no answer");
  rows found{answer};
  std::optional<rows> kept;
  switch (PQresultStatus(answer)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      // A commit of a transaction that had failed before is no error to the
      // server.
      if (commits && PQcmdStatus(answer) == std::string_view{"ROLLBACK"})
        first = fail(errc::internal, "the transaction had failed before");
      // Somebody ended the wait for the standby: it is committed here, and may
      // be lost with this server. Who asks again waits for the standby.
      else if (commits && session_.was_warned())
        return broken("the commit was not waited for to its end");
      else if (command.is_preparing)
        command.statement->is_prepared = true;
      else
        kept = std::move(found);
      break;
    case PGRES_PIPELINE_ABORTED:
      break;
    default:
      if (!first)
        first = note(answer);
      if (PQstatus(pg()) == CONNECTION_BAD)
        return *first;
  }
  BC_TRY(end, session_.next());
  if (end != nullptr) {
    PQclear(end);
    return broken("an answer without an end");
  }
  return kept;
}

result<std::vector<rows>> live_connection::receive(
    const std::vector<sent>& commands) {
  std::vector<rows> answers;
  std::optional<fault> first;
  for (const auto& command : commands) {
    BC_TRY(answer, receive_one(command, first));
    if (answer) {
      changes_ = answer->changed();
      answers.push_back(std::move(*answer));
    }
  }
  BC_TRY(sync, session_.next());
  bool synced = sync != nullptr && PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
  PQclear(sync);
  if (!synced || PQexitPipelineMode(pg()) != 1) {
    auto why = broken(PQerrorMessage(pg()));
    return first ? *first : why;
  }
  if (first)
    return *first;
  return answers;
}

// Half a round trip leaves a connection nobody can use.
result<std::vector<rows>> live_connection::finish(
    const std::vector<sent>& commands) {
  ++trips;
  // Only now is there anything to wait for.
  session_.begin_request();
  for (const auto& c : commands)
    c.statement->is_sent = false;
  auto answers = [&]() -> result<std::vector<rows>> {
    if (PQpipelineSync(pg()) != 1)
      return broken(PQerrorMessage(pg()));
    BC_TRYV(session_.flush());
    return receive(commands);
  }();
  dead_ = dead_ || PQpipelineStatus(pg()) != PQ_PIPELINE_OFF;
  return answers;
}

result<std::vector<rows>> live_connection::run(std::span<const call> calls) {
  if (dead_)
    return gone();
  BC_TRYV(check_no_pipeline());
  for (const auto& c : calls) {
    BC_TRYV(check_texts(c));
  }
  std::vector<sent> commands;
  for (const auto& c : calls) {
    BC_TRYV(send(c, commands));
  }
  return finish(commands);
}

bool live_connection::queue(const call& c) {
  if (!pipeline_)
    return false;
  auto& p = *pipeline_;
  if (p.refused)
    return true;
  auto done = dead_ ? result<void>{gone()} : check_texts(c);
  if (done)
    done = send(c, p.commands);
  if (done)
    p.expected.emplace_back();
  else
    p.refused = done.error();
  return true;
}

result<void> live_connection::expect_changes(std::int64_t rows) {
  if (!pipeline_)
    return connection::expect_changes(rows);
  if (!pipeline_->expected.empty())
    pipeline_->expected.back() = rows;
  return ok();
}

result<void> live_connection::flush() {
  auto p = std::exchange(pipeline_, std::nullopt);
  if (!p)
    return ok();
  if (dead_)
    return p->refused ? *p->refused : gone();
  result<std::vector<rows>> answers = std::vector<rows>{};
  if (!p->commands.empty())
    answers = finish(p->commands);
  BC_TRY(done, std::move(answers));
  if (p->refused)
    return *p->refused;
  for (std::size_t i = 0; i < done.size(); ++i) {
    changes_ = done[i].changed();
    if (p->expected[i]) {
      BC_TRYV(connection::expect_changes(*p->expected[i]));
    }
  }
  return ok();
}

result<void> live_connection::execute(const std::string& script) {
  if (dead_)
    return gone();
  BC_TRYV(check_no_pipeline());
  ++trips;
  session_.begin_request();
  if (PQsendQuery(pg(), script.c_str()) != 1)
    return broken(PQerrorMessage(pg()));
  if (auto flushed = session_.flush(); !flushed) {
    dead_ = true;
    return flushed;
  }
  std::optional<fault> first;
  for (;;) {
    auto answer = session_.next();
    if (!answer) {
      dead_ = true;
      return std::move(answer).error();
    }
    if (answer.value() == nullptr)
      break;
    rows held{answer.value()};
    auto status = PQresultStatus(answer.value());
    if (status == PGRES_FATAL_ERROR && !first)
      first = note(answer.value());
    else if (PQcmdStatus(answer.value()) == std::string_view{"ROLLBACK"} &&
             script.starts_with("commit"))
      first = fail(errc::internal, "the transaction had failed before");
    changes_ = held.changed();
  }
  if (first)
    return *first;
  return ok();
}

}  // namespace

result<std::unique_ptr<connection>> connection::open(const std::string& url,
                                                     patience p) {
  BC_TRY(session, detail::session::open(url, p));
  return std::make_unique<live_connection>(std::move(session));
}

std::uint64_t round_trips() noexcept {
  return trips;
}

}  // namespace bc::postgres
