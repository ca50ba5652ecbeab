#include "tests/support/software_tpm.hpp"

#include "pki/certificate.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bc::testing {

namespace {

namespace fs = std::filesystem;

int start(const std::vector<std::string>& arguments) {
  auto child = ::fork();
  REQUIRE(child >= 0);
  if (child != 0)
    return child;
  auto silence = ::open("/dev/null", O_WRONLY);
  ::dup2(silence, 1);
  ::dup2(silence, 2);
  std::vector<char*> argv;
  for (const auto& one : arguments)
    argv.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

int finish(int child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

sockaddr_in loopback(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

bool call(int port, int (*how)(int, const sockaddr*, socklen_t)) {
  int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1;
  ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto at = loopback(port);
  bool good = how(s, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  ::close(s);
  return good;
}

// The control port is the next one, by the TCTI's own rule.
int two_free_ports() {
  // Below the ports that the system hands out, apart for each process.
  static int next = 10000 + ::getpid() % 2500 * 4;
  for (; next < 32000; next += 2)
    if (call(next, ::bind) && call(next + 1, ::bind)) {
      next += 2;
      return next - 2;
    }
  FAIL("no free ports");
  return 0;
}

bytes der_in(const fs::path& pem) {
  std::ifstream in{pem};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto der = pki::certificate_from_pem(text);
  REQUIRE(der);
  return der.value();
}

}  // namespace

std::unique_ptr<software_tpm> software_tpm::make() {
  if (std::system("command -v swtpm_setup swtpm_localca swtpm >/dev/null") !=
      0) {
    if (std::getenv("CI") != nullptr)
      FAIL("swtpm is not installed");
    WARN("skipped: swtpm is not installed");
    return nullptr;
  }
  std::unique_ptr<software_tpm> out{new software_tpm};
  const std::string name = out->folder_.path().string();
  fs::create_directory(out->folder_ / "state");
  fs::create_directory(out->folder_ / "ca");
  write_text(out->folder_ / "setup.conf",
             "create_certs_tool=/usr/bin/swtpm_localca\n"
             "create_certs_tool_config=" +
                 name + "/localca.conf\ncreate_certs_tool_options=" + name +
                 "/localca.options\nactive_pcr_banks=sha256\n");
  write_text(out->folder_ / "localca.conf",
             "statedir = " + name + "/ca\nsigningkey = " + name +
                 "/ca/signkey.pem\nissuercert = " + name +
                 "/ca/issuercert.pem\ncertserial = " + name +
                 "/ca/certserial\n");
  write_text(out->folder_ / "localca.options",
             "--platform-manufacturer Example\n--platform-version 1\n"
             "--platform-model Example\n");
  REQUIRE(finish(start({"swtpm_setup", "--tpm2", "--tpmstate", name + "/state",
                        "--create-ek-cert", "--config",
                        name + "/setup.conf"})) == 0);
  out->port_ = two_free_ports();
  auto address = [](int port) {
    return "type=tcp,port=" + std::to_string(port) + ",bindaddr=127.0.0.1";
  };
  out->process_ = start(
      {"swtpm", "socket", "--tpm2", "--tpmstate", "dir=" + name + "/state",
       "--ctrl", address(out->port_ + 1), "--server", address(out->port_),
       "--flags", "not-need-init,startup-clear"});
  for (int tries = 0; tries < 1000; ++tries) {
    if (call(out->port_ + 1, ::connect))
      return out;
    ::usleep(10'000);
  }
  FAIL("swtpm did not start");
  return nullptr;
}

software_tpm::~software_tpm() {
  if (process_ > 0) {
    ::kill(process_, SIGTERM);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
}

std::string software_tpm::tcti() const {
  return "swtpm:host=127.0.0.1,port=" + std::to_string(port_);
}

// swtpm's certificates are RSA's, which our own PEM reader takes as bytes.
bytes software_tpm::root() const {
  return der_in(folder_ / "ca/swtpm-localca-rootca-cert.pem");
}

bytes software_tpm::intermediate() const {
  return der_in(folder_ / "ca/issuercert.pem");
}

}  // namespace bc::testing
