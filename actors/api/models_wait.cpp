#include "actors/api/models_wait.hpp"

#include "projections/queries.hpp"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>

namespace bc::actors {

namespace {

using std::chrono::steady_clock;

constexpr milliseconds look_again{15};
constexpr seconds longest_wait{2};
// Also where time does not pass between two looks.
constexpr int most_looks = 200;

struct wait {
  std::shared_ptr<read_models> models;
  std::shared_ptr<ledger> streams;
  std::uint64_t wanted = 0;
  reply_to<std::uint64_t> done;
  steady_clock::time_point until = steady_clock::now() + longest_wait;
  int looks = 0;
};
using wait_ptr = std::shared_ptr<wait>;

result<std::string> position_of(projections::queries& q) {
  BC_TRY(position, q.position());
  return std::to_string(position);
}

void look(const wait_ptr& w);

void on_position(const wait_ptr& w, const result<std::string>& text) {
  if (!text)
    return w->done(text.error());
  std::uint64_t position = 0;
  const auto& digits = text.value();
  std::from_chars(digits.data(), digits.data() + digits.size(), position);
  w->models->reach(position);
  if (const auto reached = w->models->reached(); reached >= w->wanted)
    return w->done(reached);
  w->streams->after(look_again, [w] { look(w); });
}

void look(const wait_ptr& w) {
  // Once: it moves on between two reads.
  const auto reached = w->models->reached();
  const auto now = steady_clock::now();
  if (reached >= w->wanted || ++w->looks > most_looks || now >= w->until)
    return w->done(reached);
  // One of those that wait asks for all.
  if (!w->models->may_ask(now))
    return w->streams->after(look_again, [w] { look(w); });
  w->streams->query(position_of,
                    [w](result<std::string> text) { on_position(w, text); });
}

}  // namespace

void wait_for_models(std::shared_ptr<read_models> models,
                     std::shared_ptr<ledger> streams, std::uint64_t wanted,
                     reply_to<std::uint64_t> done) {
  auto w = std::make_shared<wait>();
  w->models = std::move(models);
  w->streams = std::move(streams);
  w->wanted = wanted;
  w->done = std::move(done);
  look(w);
}

}  // namespace bc::actors
