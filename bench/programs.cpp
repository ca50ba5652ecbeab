#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "tests/support/temporary_folder.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// The programs as they are installed: how soon they are there, and how large.
namespace bc::bench {

namespace {

constexpr double goal_ready = 1;   // s
constexpr double goal_size = 8e6;  // bytes
constexpr std::size_t starts = 7;
constexpr const char* machines = "20";  // what the existing store holds

using words = std::vector<std::string>;

fault broken(const std::string& what) {
  return fail(errc::internal, what);
}

/// A program under way, whose standard output is read here.
class running {
 public:
  explicit running(words line) : began_(steady::now()) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      give_up(broken("no pipe"));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (auto& word : line)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(),
                       environ) != 0)
      give_up(broken("cannot start " + line.front()));
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ::fdopen(ends[0], "r");
  }
  ~running() {
    ::kill(pid_, SIGTERM);
    int how = 0;
    ::waitpid(pid_, &how, 0);
    std::fclose(out_);
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

  /// Seconds from the start to the line that begins so, or to the end of its
  /// output; the text until then.
  double until(std::string_view begin, std::string* text = nullptr) {
    char* line = nullptr;
    std::size_t room = 0;
    bool found = false;
    while (!found && ::getline(&line, &room, out_) > 0) {
      found = !begin.empty() && std::string_view{line}.starts_with(begin);
      if (text != nullptr)
        *text += line;
    }
    std::free(line);
    if (!found && !begin.empty())
      give_up(broken("it never said " + std::string{begin}));
    return std::chrono::duration<double>(steady::now() - began_).count();
  }

 private:
  steady::time_point began_;
  pid_t pid_ = 0;
  std::FILE* out_ = nullptr;
};

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

void measure_start(const std::string& program, report& out) {
  temporary_folder folder;
  const std::string data = folder / "data";
  const words dev = {program,      "dev", "--data",         data,
                     "--api-port", "0",   "--gateway-port", "0"};
  auto filled = dev;
  filled.insert(filled.end(), {"--sim", machines, "--once"});
  running{filled}.until("");
  std::vector<double> bare, ready;
  for (std::size_t i = 0; i < starts; ++i) {
    bare.push_back(running{{program, "--help"}}.until(""));
    ready.push_back(running{dev}.until("Ready"));
  }
  const auto took = median(ready);
  out.add("a process that prints its help, median", median(bare) * 1000, "ms");
  out.add_ratio("dev on an existing store until Ready, median", took * 1000,
                "ms", median(bare) * 1000, "a bare process",
                took < goal_ready ? "" : "goal under 1 s");
}

void measure_size(const std::string& program, report& out) {
  temporary_folder folder;
  const std::string stripped = folder / "bcd";
  running{{"strip", "-o", stripped, program}}.until("");
  std::error_code failed;
  const auto size = std::filesystem::file_size(stripped, failed);
  if (failed)
    give_up(broken("cannot strip " + program));
  std::string all, needed;
  running{{"objdump", "-p", stripped}}.until("", &all);
  for (std::size_t at = 0;
       (at = all.find("NEEDED", at)) != std::string::npos;) {
    at = all.find_first_not_of(' ', at + 6);
    auto end = all.find('\n', at);
    needed += (needed.empty() ? "" : " ") + all.substr(at, end - at);
  }
  const auto bytes = static_cast<double>(size);
  out.add("bcd, stripped", bytes / 1e6, "MB",
          (bytes <= goal_size ? "" : "goal at most 8; ") + ("needs " + needed));
}

}  // namespace

void measure_programs(const settings& s, report& out) {
  out.section("Programs");
  const auto folder = std::filesystem::path{s.self}.parent_path();
  measure_start(folder / "better-compute", out);
  measure_size(folder / "bcd", out);
}

}  // namespace bc::bench
