#include "ops/dev/next_steps.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using bc::dev::next_steps;
using bc::dev::next_steps_text;
using bc::dev::shell_word;

TEST_CASE("next_steps: a word of a shell", "[ops]") {
  CHECK(shell_word("/srv/a-b_c.d/x") == "/srv/a-b_c.d/x");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("/my data") == "'/my data'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
}

TEST_CASE("next_steps: paths hold in any folder, sudo only when needed",
          "[ops]") {
  next_steps s;
  s.program = "bin/better-compute";
  s.credential_file = "./my data/root-credential";
  s.daemon_config = "./my data/bcd/config.toml";
  auto here = std::filesystem::current_path().string();
  auto text = next_steps_text(s);
  CHECK(text.find("  sudo ") != std::string::npos);
  for (const auto& path :
       {here + "/bin/better-compute nodes list", here + "/bin/bcd join",
        here + "/my data/root-credential'",
        here + "/my data/bcd/config.toml'"}) {
    INFO(text);
    CHECK(text.find(path) != std::string::npos);
  }
  s.root = true;
  CHECK(next_steps_text(s).find("sudo") == std::string::npos);
}
