// GET {basePath}/downloads/bcd/{version}/linux-{arch}: names, bytes, bounds.
// spec: joining#adopting-a-brownfield-server
#include "gateway/downloads.hpp"

#include "gateway/routes.hpp"
#include "tests/gateway/support.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <vector>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using bc::test::eventually;

namespace fs = std::filesystem;

namespace {

const std::string downloads_base = "/api/compute/downloads/bcd/";

class counting_api final : public actors::api_port {
 public:
  void call(actors::api_call,
            std::function<void(actors::api_reply)> done) override {
    ++calls;
    done({200, "{}"});
  }
  int calls = 0;
};

// Not the same anywhere, so that a piece out of place is seen.
std::string some_program(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t state = 1;
  for (auto& c : out) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return out;
}

/// An API listener with a folder of programs.
struct site {
  explicit site(download_options options = {}, milliseconds read = {}) {
    options.folder = (folder / "downloads").string();
    fs::create_directories(options.folder);
    api_extras extras;
    programs = downloads::start(std::move(options));
    extras.programs = programs;
    server_options s;
    if (read.count() > 0)
      s.read_timeout = read;
    auto started = http_server::start(
        std::move(s), make_api_handler(api, {}, std::move(extras)));
    REQUIRE(started);
    server = std::move(started).value();
  }
  ~site() { server->stop(seconds{1}); }

  fs::path file(const std::string& name) const {
    return folder / ("downloads/" + name);
  }

  std::unique_ptr<raw_socket> ask(const std::string& method,
                                  const std::string& path) const {
    auto out = std::make_unique<raw_socket>(server->port());
    REQUIRE(out->send(method + " " + path + " HTTP/1.1\r\nhost: x\r\n\r\n"));
    return out;
  }

  client_response get(const std::string& path) const {
    client_options o;
    o.url = "http://127.0.0.1:" + std::to_string(server->port());
    auto got = send_request(o, "GET", path, {}, "");
    REQUIRE(got);
    return std::move(got).value();
  }

  temporary_folder folder;
  counting_api api;
  std::shared_ptr<downloads> programs;
  std::unique_ptr<http_server> server;
};

std::string rest_of(raw_socket& from) {
  std::string out;
  char buffer[65536];
  for (;;) {
    auto n = ::recv(from.fd(), buffer, sizeof buffer, 0);
    if (n <= 0)
      return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

TEST_CASE("downloads: a program arrives whole, under its length", "[gateway]") {
  site s;
  // Over the limit of what may be on its way to one client.
  const auto program = some_program(5 * 1024 * 1024 + 13);
  write_text(s.file("0.1.0/linux-amd64"), program);
  auto from = s.ask("GET", downloads_base + "0.1.0/linux-amd64");
  auto head = from->read_to("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.find("content-type: application/octet-stream\r\n") != head.npos);
  CHECK(head.find("content-length: " + std::to_string(program.size()) +
                  "\r\n") != head.npos);
  CHECK(head.find("transfer-encoding") == head.npos);
  auto body = rest_of(*from);
  CHECK(body.size() == program.size());
  CHECK((body == program));
  CHECK(eventually([&] { return s.programs->transfers() == 0; }));
}

TEST_CASE("downloads: HEAD tells the length alone", "[gateway]") {
  site s;
  write_text(s.file("1.2.3-rc.1/linux-arm64"), "program");
  auto from = s.ask("HEAD", downloads_base + "1.2.3-rc.1/linux-arm64");
  auto head = from->read_to("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.find("content-length: 7\r\n") != head.npos);
  // Nothing follows it: the next answer does.
  REQUIRE(from->send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"));
  CHECK(from->read_answer().starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(eventually([&] { return s.programs->transfers() == 0; }));
}

TEST_CASE("downloads: names that are none are NOT_FOUND and reach no file",
          "[gateway]") {
  site s;
  write_text(s.folder / "secret", "secret");
  write_text(s.file("0.1.0/linux-amd64"), "program");
  write_text(s.file("0.1.0/linux-riscv64"), "program");
  write_text(s.file("0.1.0/other"), "program");
  write_text(s.file("empty/linux-amd64"), "");
  fs::create_directories(s.file("folder/linux-amd64"));
  fs::create_directories(s.file("links"));
  fs::create_symlink(s.folder / "secret", s.file("links/linux-amd64"));
  fs::create_directory_symlink(s.file("0.1.0"), s.file("latest"));
  fs::create_directories(s.file("fifo"));
  REQUIRE(::mkfifo(s.file("fifo/linux-amd64").c_str(), 0600) == 0);
  for (const std::string path : {"",
                                 "0.1.0",
                                 "0.1.0/",
                                 "0.1.0/linux-",
                                 "0.1.0/linux-riscv64",
                                 "0.1.0/other",
                                 "0.1.0/linux-amd64/",
                                 "0.1.0/linux-amd64/x",
                                 "0.1.0//linux-amd64",
                                 "/linux-amd64",
                                 "../secret",
                                 "../linux-amd64",
                                 "./linux-amd64",
                                 "..",
                                 "0.1.0/../secret",
                                 "%2e%2e/linux-amd64",
                                 "0.1.0%2flinux-amd64",
                                 "0.1.0/linux-amd6%34",
                                 "9.9.9/linux-amd64",
                                 "0.1.0/linux-arm64",
                                 "0.1.0/LINUX-amd64",
                                 "links/linux-amd64",
                                 "latest/linux-amd64",
                                 "empty/linux-amd64",
                                 "folder/linux-amd64",
                                 "fifo/linux-amd64"}) {
    INFO(path);
    auto answer = s.get(downloads_base + path);
    CHECK(answer.status == 404);
    CHECK(answer.body.find("\"NOT_FOUND\"") != answer.body.npos);
    CHECK(answer.body.find("secret") == answer.body.npos);
  }
  CHECK(s.get(downloads_base + "0.1.0/linux-amd64").body == "program");
  CHECK(s.api.calls == 0);
}

TEST_CASE("downloads: only GET and HEAD", "[gateway]") {
  site s;
  write_text(s.file("0.1.0/linux-amd64"), "program");
  auto from = s.ask("POST", downloads_base + "0.1.0/linux-amd64");
  auto head = from->read_to("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 405 "));
  CHECK(head.find("allow: GET, HEAD\r\n") != head.npos);
}

TEST_CASE("downloads: a server without programs has none", "[gateway]") {
  counting_api api;
  auto started = http_server::start({}, make_api_handler(api, {}));
  REQUIRE(started);
  client_options o;
  o.url = "http://127.0.0.1:" + std::to_string(started.value()->port());
  auto got =
      send_request(o, "GET", downloads_base + "0.1.0/linux-amd64", {}, "");
  REQUIRE(got);
  CHECK(got.value().status == 404);
}

TEST_CASE("downloads: the one program of dev is found beside the folder",
          "[gateway]") {
  temporary_folder elsewhere;
  write_text(elsewhere / "bcd", "own");
  download_options o;
  o.program.emplace(program_name{"7", "amd64"}, (elsewhere / "bcd").string());
  site s{std::move(o)};
  write_text(s.file("8/linux-amd64"), "other");
  CHECK(s.get(downloads_base + "7/linux-amd64").body == "own");
  CHECK(s.get(downloads_base + "8/linux-amd64").body == "other");
  CHECK(s.get(downloads_base + "7/linux-arm64").status == 404);
}

TEST_CASE(
    "downloads: over max_transfers it is UNAVAILABLE, and free again "
    "when a client goes",
    "[gateway]") {
  download_options o;
  o.max_transfers = 1;
  site s{std::move(o)};
  write_text(s.file("1/linux-amd64"), some_program(16 * 1024 * 1024));
  write_text(s.file("2/linux-amd64"), "small");
  {
    auto slow = s.ask("GET", downloads_base + "1/linux-amd64");
    CHECK(slow->read_to("\r\n\r\n").starts_with("HTTP/1.1 200 "));
    auto second = s.get(downloads_base + "2/linux-amd64");
    CHECK(second.status == 503);
    CHECK(second.body.find("\"UNAVAILABLE\"") != second.body.npos);
  }
  CHECK(eventually([&] { return s.programs->transfers() == 0; }));
  CHECK(s.get(downloads_base + "2/linux-amd64").body == "small");
}

TEST_CASE("downloads: a file that becomes shorter is an answer that is cut",
          "[gateway]") {
  site s;
  const auto name = s.file("1/linux-amd64");
  write_text(name, some_program(16 * 1024 * 1024));
  auto from = s.ask("GET", downloads_base + "1/linux-amd64");
  auto head = from->read_to("\r\n\r\n");
  REQUIRE(head.find("content-length: 16777216\r\n") != head.npos);
  fs::resize_file(name, 2 * 1024 * 1024);
  auto body = rest_of(*from);
  CHECK(body.size() < 16 * 1024 * 1024);
  CHECK(eventually([&] { return s.programs->transfers() == 0; }));
}

TEST_CASE("downloads: one that takes too long is cut", "[gateway]") {
  download_options o;
  o.limit = seconds{0};
  site s{std::move(o)};
  write_text(s.file("1/linux-amd64"), some_program(4 * 1024 * 1024));
  auto from = s.ask("GET", downloads_base + "1/linux-amd64");
  CHECK(from->read_to("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(rest_of(*from).size() < 4 * 1024 * 1024);
  CHECK(eventually([&] { return s.programs->transfers() == 0; }));
}

TEST_CASE("downloads: the server's stop ends them", "[gateway]") {
  auto s = std::make_unique<site>();
  write_text(s->file("1/linux-amd64"), some_program(16 * 1024 * 1024));
  auto from = s->ask("GET", downloads_base + "1/linux-amd64");
  REQUIRE(from->read_to("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  s.reset();
  CHECK(rest_of(*from).size() < 16 * 1024 * 1024);
}

TEST_CASE("downloads: parse_download takes version and architecture alone",
          "[gateway]") {
  auto good = parse_download("0.1.0/linux-amd64");
  REQUIRE(good);
  CHECK(*good == program_name{"0.1.0", "amd64"});
  for (const auto* bad :
       {"", "/", "x", "x/", "x/linux-", "x/linux-x86_64", "../linux-amd64",
        "x/y/linux-amd64", "x/linux-amd64 "})
    CHECK_FALSE(parse_download(bad));
}
