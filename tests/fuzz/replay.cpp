// Runs every target over its corpus, and over cuts and flips of each file, so
// that what fuzzing once found stays mended in every build.
#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using bc::bytes;

struct target {
  std::string name;
  void (*run)(bc::byte_view);
};

const target targets[] = {
#define BC_ROW(name) {#name, bc::fuzz::name},
    BC_FUZZ_TARGETS(BC_ROW)
#undef BC_ROW
};

bytes contents(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

constexpr std::size_t most_variants = 400;

void run_variants(const target& t, const bytes& whole) {
  t.run(whole);
  auto step = std::max<std::size_t>(1, whole.size() / most_variants);
  for (std::size_t at = 0; at < whole.size(); at += step) {
    t.run(bc::byte_view{whole}.first(at));
    bytes flipped = whole;
    flipped[at] = static_cast<std::uint8_t>(flipped[at] ^ (1u << (at % 8)));
    t.run(flipped);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS\n");
    return 2;
  }
  std::size_t files = 0;
  for (const auto& t : targets) {
    t.run({});
    std::filesystem::path folder = std::filesystem::path{argv[1]} / t.name;
    std::size_t own = 0;
    if (std::filesystem::is_directory(folder))
      for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        run_variants(t, contents(entry.path()));
        ++own;
      }
    if (own == 0) {
      std::fprintf(stderr, "%s: no corpus in %s\n", t.name.c_str(),
                   folder.c_str());
      return 1;
    }
    files += own;
  }
  std::printf("%zu targets, %zu files, no rule broken\n", std::size(targets),
              files);
  return 0;
}
