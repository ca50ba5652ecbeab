#include "ops/dev/line_printer.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

using namespace bc;
using bc::dev::line_printer;

namespace {

struct pipe_ends {
  pipe_ends() { REQUIRE(::pipe2(fds, O_CLOEXEC) == 0); }
  ~pipe_ends() {
    ::close(fds[0]);
    close_in();
  }
  void close_in() {
    if (fds[1] >= 0)
      ::close(fds[1]);
    fds[1] = -1;
  }
  std::string rest() {
    close_in();
    std::string out;
    char chunk[4096];
    for (;;) {
      auto n = ::read(fds[0], chunk, sizeof chunk);
      if (n <= 0)
        return out;
      out.append(chunk, static_cast<std::size_t>(n));
    }
  }
  int fds[2];
};

}  // namespace

TEST_CASE("line_printer: lines come whole and in order", "[ops]") {
  pipe_ends pipe;
  {
    line_printer out{pipe.fds[1]};
    out.say("one");
    out.say("");
    out.say("three");
  }
  CHECK(pipe.rest() == "one\n\nthree\n");
}

TEST_CASE("line_printer: nothing is printed after the end", "[ops]") {
  pipe_ends pipe;
  line_printer out{pipe.fds[1]};
  out.say("one");
  out.finish(seconds{20});
  out.say("two");
  CHECK(pipe.rest() == "one\n");
}

TEST_CASE("line_printer: a reader that stopped holds up nobody", "[ops]") {
  pipe_ends pipe;
  line_printer out{pipe.fds[1]};
  const std::string line(1000, 'x');
  for (int i = 0; i < 30'000; ++i)
    out.say(line);
  out.finish(milliseconds{1});
  // Read on: what waited comes, and how much did not is told.
  std::string text;
  char chunk[65536];
  while (text.find("lines were not printed)\n") == std::string::npos) {
    auto n = ::read(pipe.fds[0], chunk, sizeof chunk);
    REQUIRE(n > 0);
    text.append(chunk, static_cast<std::size_t>(n));
  }
  out.finish(seconds{20});
}
