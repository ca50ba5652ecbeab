// spec: sd_notify(3); DESIGN section 11 (secrets).
#include "ops/cli/files.hpp"
#include "ops/serve/identity.hpp"
#include "ops/serve/process.hpp"
#include "tests/support/forked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace bc;
namespace fs = std::filesystem;

namespace {

using folder = temporary_folder;

// A service manager's socket; `name` as NOTIFY_SOCKET has it.
class manager {
 public:
  explicit manager(const std::string& name) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name.data(), name.size());
    if (name.front() == '@')
      at.sun_path[0] = '\0';
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    auto size = offsetof(sockaddr_un, sun_path) + name.size();
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&at),
                   static_cast<socklen_t>(size)) == 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~manager() {
    ::close(fd_);
    ::unsetenv("NOTIFY_SOCKET");
  }
  std::string heard() const {
    char text[64];
    auto n = ::recv(fd_, text, sizeof text, 0);
    return n < 0 ? "" : std::string{text, static_cast<std::size_t>(n)};
  }

 private:
  int fd_;
};

std::string file(const folder& dir, const char* name, mode_t mode,
                 const std::string& text) {
  auto path = dir / name;
  std::ofstream{path} << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

}  // namespace

TEST_CASE("process: the service manager is told", "[ops]") {
  folder dir;
  {
    manager m{dir / "notify"};
    serve::notify_manager("READY=1");
    CHECK(m.heard() == "READY=1");
  }
  {
    manager m{"@better-compute-test-" + std::to_string(::getpid())};
    serve::notify_manager("STOPPING=1");
    CHECK(m.heard() == "STOPPING=1");
  }
  serve::notify_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", std::string(200, '/').c_str(), 1);
  serve::notify_manager("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
}

TEST_CASE("process: connections are what the limit on open files allows",
          "[ops]") {
  struct row {
    rlim_t files;
    std::size_t listeners, connections;
  };
  auto r = GENERATE(row{100, 1, 16}, row{1024, 1, 896}, row{1024, 2, 448},
                    row{9000, 1, 8872});
  auto code = testing::in_child([&] {
    rlimit files{64, r.files};
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0)
      ::_exit(2);
    ::_exit(serve::raise_connection_limit(r.listeners) == r.connections ? 0
                                                                        : 1);
  });
  CAPTURE(r.files);
  CHECK(code == 0);
}

TEST_CASE("serve: a secret file is its owner's alone (case 171)", "[ops]") {
  folder dir;
  auto read = [&](const std::string& path) {
    return cli::read_installed_secret_file(path);
  };
  CHECK(read(file(dir, "a", 0400, "secret\n")).value().expose_text() ==
        "secret");
  CHECK(read(file(dir, "b", 0600, "secret")));
  for (mode_t mode : {0644, 0604, 0602, 0660, 0620, 0601})
    CHECK_FALSE(read(file(dir, "c", mode, "secret")));
  CHECK_FALSE(read(dir / "missing"));
  fs::create_directory(dir / "folder");
  CHECK_FALSE(read(dir / "folder"));
  // A Kubernetes secret is a symlink.
  fs::create_symlink(dir / "a", dir / "link");
  CHECK(read(dir / "link"));
  auto group = file(dir, "d", 0440, "secret");
  // root's may be its group's to read: so systemd hands credentials over.
  CHECK(bool{read(group)} == (::geteuid() == 0));
  if (::geteuid() == 0) {
    auto other = file(dir, "e", 0600, "secret");
    REQUIRE(::chown(other.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(read(other));
  }
}

TEST_CASE("serve: the deployment's secret comes from a file or a variable",
          "[ops]") {
  folder dir;
  ::unsetenv("BETTER_COMPUTE_SECRET");
  auto none = serve::deployment_secret("");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::invalid_config);
  ::setenv("BETTER_COMPUTE_SECRET", "of the variable", 1);
  CHECK(serve::deployment_secret("").value().expose_text() ==
        "of the variable");
  auto path = file(dir, "secret", 0600, "of the file\n");
  CHECK(serve::deployment_secret(path).value().expose_text() == "of the file");
  ::unsetenv("BETTER_COMPUTE_SECRET");
}
