#include "actors/group_commit.hpp"

#include "actors/guarded.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <thread>

namespace bc::actors {
namespace {

using events::append_outcome;
using steady = std::chrono::steady_clock;

// Enough to find a few batches among 512; a store that takes none of them is
// not asked for each.
constexpr int most_failures = 64;

class group_commit {
 public:
  group_commit(events::journal& journal, const commit_options& options)
      : journal_(journal), options_(options), tries_(options.lookup_tries) {}

  // What is appended again after a fault is not written twice: a batch that is
  // in the journal is answered with its events.
  void append(std::span<const events::batch> group) {
    if (given_up_)
      return look_up_all(group, *given_up_);
    auto done = guarded([&] { return journal_.append(group); });
    if (done && done.value().size() == group.size()) {
      for (auto& outcome : done.value())
        answer.outcomes.emplace_back(std::move(outcome));
      return;
    }
    auto why = done ? fail(errc::internal, "The journal failed", {},
                           "an append answered another number of outcomes")
                    : std::move(done.error());
    spdlog::error("journal append of {} batches: {} {} {}", group.size(),
                  wire_text(why.code), why.message, why.detail);
    answer.store_is_away = why.code == errc::unavailable;
    if (why.code != errc::internal || ++failures_ >= most_failures)
      given_up_ = why;
    if (given_up_ || group.size() == 1)
      return look_up_all(group, why);
    append(group.first(group.size() / 2));
    append(group.subspan(group.size() / 2));
  }

  committed_group answer;

 private:
  void look_up_all(std::span<const events::batch> group, const fault& why) {
    for (const auto& b : group)
      answer.outcomes.push_back(look_up(b, why));
  }

  // A store that is down is asked no longer for a large group than for a small
  // one.
  result<append_outcome> look_up(const events::batch& b, const fault& why) {
    if (!b.has_events())
      return fault{why};
    while (tries_ > 0) {
      const auto began = steady::now();
      auto found = guarded([&] { return journal_.outcome(b.id); });
      if (found && found.value())
        return append_outcome{std::move(*found.value())};
      if (found)
        return fault{why};
      if (!first_lookup_)
        first_lookup_ = began;
      if (steady::now() - *first_lookup_ >= options_.lookup_longest)
        tries_ = 0;
      else if (--tries_ > 0)
        std::this_thread::sleep_for(options_.lookup_pause);
    }
    answer.is_unsure = true;
    return fail(errc::unavailable, "The outcome is not known; retry", {},
                "batch " + b.id.str());
  }

  events::journal& journal_;
  const commit_options& options_;
  int tries_;
  int failures_ = 0;
  std::optional<steady::time_point> first_lookup_;  // that failed
  std::optional<fault> given_up_;
};

}  // namespace

committed_group commit_group(events::journal& journal,
                             std::span<const events::batch> group,
                             const commit_options& options) {
  group_commit work{journal, options};
  work.answer.outcomes.reserve(group.size());
  work.append(group);
  return std::move(work.answer);
}

}  // namespace bc::actors
