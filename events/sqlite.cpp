#include "events/sqlite.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace bc::sqlite {

namespace {

constexpr int busy_timeout_ms = 5000;

fault to_fault(int code, std::string_view what) {
  auto detail = std::string{what} + " (SQLite " + std::to_string(code) + ")";
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(errc::unavailable, "the database is busy", {}, detail);
    case SQLITE_FULL:
      return fail(errc::unavailable, "the disk is full", {}, detail);
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return fail(errc::unavailable, "the database file cannot be used now", {},
                  detail);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail(errc::internal,
                  "the database file is damaged: " + std::string{what}, {},
                  detail);
    default:
      return fail(errc::internal, "database error: " + std::string{what}, {},
                  detail);
  }
}

fault last_fault(sqlite3* db) {
  return to_fault(sqlite3_extended_errcode(db), sqlite3_errmsg(db));
}

fault cannot_open(const std::string& path, int error) {
  auto message = "cannot open " + path + ": " + std::strerror(error);
  bool resource = error == ENOSPC || error == EDQUOT || error == EIO ||
                  error == EMFILE || error == ENFILE || error == ENOMEM;
  return fail(resource ? errc::unavailable : errc::invalid_config, message);
}

// Made before SQLite opens it: SQLite would follow the umask. Its -wal and
// -shm files take this file's mode.
result<void> make_private_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  else if (fd >= 0)
    ::fchmod(fd, 0600);
  if (fd < 0)
    return cannot_open(path, errno);
  ::close(fd);
  return ok();
}

/// A statement of the connection's cache, reset when it is given back, or one
/// of its own.
class cursor final : public sql::cursor {
 public:
  /// `in_use`: the flag of the cache's entry, cleared at the end; nullptr for
  /// a statement of its own.
  cursor(sqlite3_stmt* s, bool* in_use) : s_(s), in_use_(in_use) {}
  cursor(const cursor&) = delete;
  cursor& operator=(const cursor&) = delete;
  ~cursor() override {
    if (in_use_ == nullptr) {
      sqlite3_finalize(s_);
      return;
    }
    sqlite3_reset(s_);
    sqlite3_clear_bindings(s_);
    *in_use_ = false;
  }

  void bind_text(int index, std::string_view text) override {
    // A null pointer would bind NULL, not the empty text.
    const char* data = text.data() == nullptr ? "" : text.data();
    bound(sqlite3_bind_text64(s_, index, data, text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
  }
  void bind_number(int index, std::int64_t number) override {
    bound(sqlite3_bind_int64(s_, index, number));
  }
  void bind_null(int index) override { bound(sqlite3_bind_null(s_, index)); }

  result<bool> step() override {
    if (bind_code_ != SQLITE_OK)
      return to_fault(bind_code_, "a value cannot be bound");
    switch (sqlite3_step(s_)) {
      case SQLITE_ROW:
        return true;
      case SQLITE_DONE:
        return false;
      default:
        return last_fault(sqlite3_db_handle(s_));
    }
  }

  std::string text(int column) const override {
    const auto* data = sqlite3_column_text(s_, column);
    if (data == nullptr)
      return {};
    auto size = static_cast<std::size_t>(sqlite3_column_bytes(s_, column));
    return {reinterpret_cast<const char*>(data), size};
  }
  std::int64_t number(int column) const override {
    return sqlite3_column_int64(s_, column);
  }
  bool is_null(int column) const override {
    return sqlite3_column_type(s_, column) == SQLITE_NULL;
  }

 private:
  void bound(int code) {
    if (bind_code_ == SQLITE_OK)
      bind_code_ = code;
  }

  sqlite3_stmt* s_;
  bool* in_use_;
  int bind_code_ = SQLITE_OK;
};

}  // namespace

struct connection::impl {
  struct entry {
    sqlite3_stmt* stmt = nullptr;
    bool in_use = false;
  };
  // So that a text is looked up without a copy of it.
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  sqlite3* db = nullptr;
  std::unordered_map<std::string, entry, text_hash, std::equal_to<>> cache;

  ~impl() {
    for (auto& [sql, e] : cache)
      sqlite3_finalize(e.stmt);
    sqlite3_close_v2(db);
  }

  result<sqlite3_stmt*> compile(std::string_view sql) const {
    sqlite3_stmt* stmt = nullptr;
    int code = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()),
                                  SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
    if (code != SQLITE_OK)
      return last_fault(db);
    return stmt;
  }
};

namespace {

// SQLite keeps another mode without an error where it cannot have WAL (a file
// system without shared memory).
result<void> make_durable(connection& db) {
  {
    BC_TRY(set, db.prepare("pragma journal_mode = wal"));
    BC_TRYV(set.step());
    if (auto is = set.text(0); is != "wal")
      return fail(errc::invalid_config,
                  "the database cannot use a write-ahead log here; keep it on "
                  "a local file system",
                  {}, "journal_mode " + is);
  }
  return db.execute("pragma synchronous = full");
}

}  // namespace

connection::connection(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

connection::~connection() = default;

result<std::unique_ptr<connection>> connection::open(const std::string& path,
                                                     mode m) {
  bool write = m == mode::read_write;
  if (write) {
    BC_TRYV(make_private_file(path));
  } else if (::access(path.c_str(), R_OK) != 0)
    return cannot_open(path, errno);
  auto i = std::make_unique<impl>();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
              (write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  int code = sqlite3_open_v2(path.c_str(), &i->db, flags, nullptr);
  if (code != SQLITE_OK)
    return to_fault(code, i->db ? sqlite3_errmsg(i->db) : "out of memory");
  sqlite3_busy_timeout(i->db, busy_timeout_ms);
  std::unique_ptr<connection> db{new connection{std::move(i)}};
  if (write) {
    BC_TRYV(make_durable(*db));
  }
  return db;
}

result<sql::statement> connection::prepare(std::string_view sql) {
  auto known = impl_->cache.find(sql);
  if (known == impl_->cache.end()) {
    BC_TRY(compiled, impl_->compile(sql));
    known = impl_->cache.try_emplace(std::string{sql}).first;
    known->second.stmt = compiled;
  }
  auto& e = known->second;
  if (e.in_use) {
    BC_TRY(own, impl_->compile(sql));
    return sql::statement{std::make_unique<cursor>(own, nullptr)};
  }
  e.in_use = true;
  return sql::statement{std::make_unique<cursor>(e.stmt, &e.in_use)};
}

result<void> connection::execute(const std::string& script) {
  if (sqlite3_exec(impl_->db, script.c_str(), nullptr, nullptr, nullptr) !=
      SQLITE_OK)
    return last_fault(impl_->db);
  return ok();
}

std::int64_t connection::changes() const {
  return sqlite3_changes64(impl_->db);
}

bool connection::in_transaction() const {
  return sqlite3_get_autocommit(impl_->db) == 0;
}

}  // namespace bc::sqlite
