#include "gateway/downloads.hpp"

#include "pki/release.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::string_view system_prefix = "linux-";
constexpr std::size_t piece = 128 * 1024;
// A client that has this much on its way is not given more (stream_queue's
// limit is twice that).
constexpr std::size_t ahead = 512 * 1024;
constexpr milliseconds pace{10};
constexpr std::size_t max_waiting = 256;

class open_file {
 public:
  explicit open_file(int fd = -1) : fd_(fd) {}
  open_file(open_file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  open_file& operator=(open_file&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~open_file() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool good() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// One file on its way to one client.
struct transfer {
  transfer(open_file f, std::uint64_t bytes, std::atomic<std::size_t>& c)
      : file(std::move(f)), left(bytes), count(c) {}
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;
  ~transfer() { count.fetch_sub(1); }

  open_file file;
  std::uint64_t left;
  std::atomic<std::size_t>& count;
  std::shared_ptr<response_stream> to;
  steady::time_point until;
};
using transfer_ptr = std::shared_ptr<transfer>;

struct question {
  program_name wanted;
  std::function<void(result<http_response>)> done;
};

fault not_there() {
  return fail(errc::not_found, "no such program");
}

// Also for what is no file of ours: a caller learns nothing of the folder.
result<open_file> open_at(int folder, const std::string& name, int flags) {
  int fd = ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd >= 0)
    return open_file{fd};
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
    return not_there();
  return fail(errc::unavailable, "the program cannot be read now", {},
              name + ": " + std::strerror(errno));
}

// What follows the folder comes from outside: no link is followed in it.
result<open_file> open_in(const std::string& folder, const program_name& n) {
  BC_TRY(root, open_at(AT_FDCWD, folder, O_DIRECTORY));
  BC_TRY(version, open_at(root.fd(), n.version, O_DIRECTORY | O_NOFOLLOW));
  // O_NONBLOCK: a FIFO must not hold the thread.
  return open_at(version.fd(), std::string{system_prefix} + n.arch,
                 O_NOFOLLOW | O_NONBLOCK);
}

/// What the thread and those who ask share; the thread keeps it alive.
class core : public std::enable_shared_from_this<core> {
 public:
  explicit core(download_options options) : options_(std::move(options)) {}

  void ask(question q) {
    {
      std::lock_guard lock{mutex_};
      if (!stopping_ && questions_.size() < max_waiting) {
        questions_.push_back(std::move(q));
        changed_.notify_one();
        return;
      }
    }
    q.done(fail(errc::unavailable, "too many downloads at once; retry"));
  }

  void stop() {
    std::lock_guard lock{mutex_};
    stopping_ = true;
    changed_.notify_one();
  }

  [[nodiscard]] std::size_t count() const { return count_.load(); }

  void run() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
      auto news = [this] {
        return stopping_ || !questions_.empty() || !started_.empty();
      };
      if (active_.empty())
        changed_.wait(lock, news);
      else
        changed_.wait_for(lock, pace, news);
      auto questions = std::exchange(questions_, {});
      for (auto& t : std::exchange(started_, {}))
        active_.push_back(std::move(t));
      lock.unlock();
      for (auto& q : questions)
        q.done(answer(q.wanted));
      std::erase_if(active_, [this](auto& t) { return !go_on(*t); });
      lock.lock();
    }
    auto questions = std::exchange(questions_, {});
    lock.unlock();
    for (auto& q : questions)
      q.done(fail(errc::unavailable, "the server is stopping"));
    active_.clear();
  }

 private:
  result<http_response> answer(const program_name& wanted) {
    BC_TRY(file, open_program(wanted));
    struct stat st {};
    if (::fstat(file.fd(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 1)
      return not_there();
    if (count_.fetch_add(1) >= options_.max_transfers) {
      count_.fetch_sub(1);
      return fail(errc::unavailable, "too many downloads at once; retry");
    }
    const auto size = static_cast<std::uint64_t>(st.st_size);
    auto t = std::make_shared<transfer>(std::move(file), size, count_);
    // Also the time until the server takes the answer up.
    t->until = steady::now() + options_.limit;
    http_response out;
    out.content_type = "application/octet-stream";
    out.stream_length = size;
    out.stream = [self = shared_from_this(),
                  t](std::shared_ptr<response_stream> to) {
      t->to = std::move(to);
      std::lock_guard lock{self->mutex_};
      self->started_.push_back(t);
      self->changed_.notify_one();
    };
    return out;
  }

  result<open_file> open_program(const program_name& wanted) const {
    if (options_.program && options_.program->first == wanted)
      return open_at(AT_FDCWD, options_.program->second, O_NONBLOCK);
    if (options_.folder.empty())
      return not_there();
    return open_in(options_.folder, wanted);
  }

  // False once nothing more will come: all of it was given, the client went or
  // took too long, or the file is not what it was. A client that got less than
  // the length it was told knows.
  static bool go_on(transfer& t) {
    for (;;) {
      auto unsent = t.to->unsent();
      if (!unsent || steady::now() > t.until)
        return false;
      if (*unsent >= ahead)
        return true;
      std::string text(std::min<std::uint64_t>(piece, t.left), '\0');
      auto got = ::read(t.file.fd(), text.data(), text.size());
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      text.resize(static_cast<std::size_t>(got));
      t.left -= text.size();
      if (!t.to->write(std::move(text)))
        return false;
      if (t.left == 0) {
        t.to->end();
        return false;
      }
    }
  }

  const download_options options_;
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<question> questions_;
  std::vector<transfer_ptr> started_;
  std::vector<transfer_ptr> active_;  // the thread's alone
};

class threaded final : public downloads {
 public:
  explicit threaded(download_options options)
      : core_(std::make_shared<core>(std::move(options))),
        thread_([core = core_] { core->run(); }) {}

  ~threaded() override {
    core_->stop();
    // The last one to let go may be an answer given by the thread itself.
    if (thread_.get_id() == std::this_thread::get_id())
      thread_.detach();
    else
      thread_.join();
  }

  void open(program_name wanted,
            std::function<void(result<http_response>)> done) override {
    core_->ask({std::move(wanted), std::move(done)});
  }

  std::size_t transfers() const override { return core_->count(); }

 private:
  std::shared_ptr<core> core_;
  std::thread thread_;
};

}  // namespace

std::optional<program_name> parse_download(std::string_view path) {
  auto slash = path.find('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  auto version = path.substr(0, slash);
  auto file = path.substr(slash + 1);
  if (!pki::is_release_version(version) || !file.starts_with(system_prefix))
    return std::nullopt;
  file.remove_prefix(system_prefix.size());
  if (!pki::is_release_arch(file))
    return std::nullopt;
  return program_name{std::string{version}, std::string{file}};
}

std::shared_ptr<downloads> downloads::start(download_options options) {
  return std::make_shared<threaded>(std::move(options));
}

}  // namespace bc::gateway
