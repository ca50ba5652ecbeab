#include "ops/cli/layered.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>

namespace bc::cli {

namespace {

// For --help and completion; read_options() judges the value.
std::string type_of(const serve::option& o) {
  if (o.key.ends_with("_file"))
    return "FILE";
  if (o.choices.empty())
    return "TEXT";
  std::string all;
  for (const auto& c : o.choices)
    all += (all.empty() ? "" : ",") + c;
  return "TEXT:{" + all + "}";
}

}  // namespace

layered::layered(std::vector<serve::option> options, is_needed needed)
    : all_(std::move(options)) {
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(needed_), needed);
  given_.resize(needed_.size());
  flags_.resize(needed_.size());
}

void layered::add_file(CLI::App& c) {
  c.add_option("--config", file_,
               "The server's TOML file; the environment and flags stand over "
               "it")
      ->type_name("FILE")
      ->envname("BETTER_COMPUTE_CONFIG");
}

void layered::add_flags(CLI::App& c) {
  for (std::size_t i = 0; i < needed_.size(); ++i)
    if (const auto& o = needed_[i]; serve::has_flag(o))
      flags_[i] = c.add_option(serve::flag_of(o.key), given_[i],
                               o.help + " [" + serve::variable_of(o.key) + "]")
                      ->type_name(type_of(o));
}

result<void> layered::read() const {
  auto over = serve::from_environment(needed_);
  for (std::size_t i = 0; i < needed_.size(); ++i)
    if (flags_[i] != nullptr && flags_[i]->count() > 0)
      over.push_back(
          {needed_[i].key, given_[i], serve::flag_of(needed_[i].key)});
  return serve::read_options(all_, file_, over);
}

}  // namespace bc::cli
