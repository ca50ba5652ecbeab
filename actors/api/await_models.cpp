#include "actors/api/await_models.hpp"

#include "actors/api/read_models.hpp"
#include "projections/queries.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace bc::actors::api {

namespace {

using std::chrono::steady_clock;

constexpr milliseconds look_again{15};
constexpr seconds longest_wait{2};
// Also where time does not pass between two looks.
constexpr int most_looks = 200;

struct wait {
  exchange_ptr x;
  std::uint64_t wanted = 0;
  std::function<void()> next;
  steady_clock::time_point until = steady_clock::now() + longest_wait;
  int looks = 0;
};
using wait_ptr = std::shared_ptr<wait>;

void give_up(const wait& w, std::uint64_t reached) {
  w.x->refuse(errc::unavailable, "The read models are " +
                                     std::to_string(w.wanted - reached) +
                                     " events behind position " +
                                     std::to_string(w.wanted) + "; retry");
}

void look(const wait_ptr& w) {
  auto& models = *w->x->env->models;
  // Once: it moves on between two reads.
  const auto reached = models.reached();
  if (reached >= w->wanted)
    return w->next();
  const auto now = steady_clock::now();
  if (++w->looks > most_looks || now >= w->until)
    return give_up(*w, reached);
  // One of those that wait asks for all.
  if (!models.may_ask(now))
    return w->x->streams->after(look_again, [w] { look(w); });
  w->x->streams->query(
      [](projections::queries& q) -> result<std::string> {
        BC_TRY(position, q.position());
        return std::to_string(position);
      },
      then(w->x, [w](const std::string& text) {
        std::uint64_t position = 0;
        std::from_chars(text.data(), text.data() + text.size(), position);
        auto& models = *w->x->env->models;
        models.reach(position);
        if (models.reached() >= w->wanted)
          return w->next();
        w->x->streams->after(look_again, [w] { look(w); });
      }));
}

}  // namespace

void await_models(exchange_ptr x, std::uint64_t at_least,
                  std::function<void()> next) {
  if (!x->env->models)
    return next();
  auto w = std::make_shared<wait>();
  w->wanted = std::max(
      at_least, x->env->models->last_of(x->who.tenant.str(), x->who.principal));
  w->x = std::move(x);
  w->next = std::move(next);
  look(w);
}

}  // namespace bc::actors::api
