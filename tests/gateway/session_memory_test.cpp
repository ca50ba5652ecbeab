// What a connected idle session costs (DESIGN section 12: at most 60 KB), and
// 2,000 nodes that come at once.
#include "session_support.hpp"

#include <cstdio>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

constexpr std::size_t few = 200;
constexpr std::size_t many = 2'200;

std::size_t resident_bytes() {
  std::ifstream in{"/proc/self/statm"};
  std::size_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Clients in a process of their own, so that their memory does not count.
class client_process {
 public:
  explicit client_process(const tls_identity& identity) {
    REQUIRE(::pipe(to_) == 0);
    REQUIRE(::pipe(from_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0)
      ::_exit(serve(identity));
  }
  ~client_process() {
    ::close(to_[1]);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    CHECK(status == 0);
  }

  /// Until so many sessions are welcomed in all.
  void open(std::uint16_t port, std::size_t sessions) {
    const std::size_t wanted[] = {port, sessions};
    REQUIRE(::write(to_[1], wanted, sizeof wanted) == sizeof wanted);
    char done = 0;
    REQUIRE(::read(from_[0], &done, 1) == 1);
    REQUIRE(done == 'y');
  }

 private:
  int serve(const tls_identity& identity) {
    ::close(to_[1]);
    std::vector<std::unique_ptr<ws_peer>> peers;
    std::size_t wanted[2];
    while (::read(to_[0], wanted, sizeof wanted) == sizeof wanted) {
      bool good = true;
      while (good && peers.size() < wanted[1]) {
        peers.push_back(std::make_unique<ws_peer>(
            static_cast<std::uint16_t>(wanted[0]), &identity));
        good = peers.back()->upgrade().starts_with("HTTP/1.1 101 ") &&
               peers.back()->say(session_world::hello_text()) &&
               peers.back()->read_text().find("welcome") != std::string::npos;
      }
      const char done = good ? 'y' : 'n';
      if (::write(from_[1], &done, 1) != 1)
        return 1;
    }
    return 0;
  }

  int to_[2] = {-1, -1};
  int from_[2] = {-1, -1};
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("session: 2,000 idle sessions are at most 60 KB each", "[.long]") {
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  REQUIRE(files.rlim_cur > many + 100);

  session_world w;
  w.options.max_per_certificate = many;
  w.options.max_per_node_and_peer = many;
  w.options.upgrades.per_second = 0;
  w.options.max_open_per_peer = 0;
  w.api.welcome(3'600);
  auto who = w.node();
  // Before there are threads.
  client_process clients{*who.tls};
  w.start();
  clients.open(w.server->port(), few);
  const auto before = resident_bytes();
  clients.open(w.server->port(), many);
  const auto after = resident_bytes();
  REQUIRE(w.registry->size() == many);
  const auto each = (after - before) / (many - few);
  std::printf("an idle session: %zu bytes\n", each);
  CHECK(each <= 60'000);
}
