#include "actors/api/await_models.hpp"

#include "actors/api/models_wait.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace bc::actors::api {

void await_models(exchange_ptr x, std::uint64_t at_least,
                  std::function<void()> next) {
  if (!x->env->models)
    return next();
  const auto wanted = std::max(
      at_least, x->env->models->last_of(x->who.tenant.str(), x->who.principal));
  wait_for_models(
      x->env->models, x->streams, wanted,
      then(x, [x, wanted, next = std::move(next)](std::uint64_t reached) {
        if (reached >= wanted)
          return next();
        x->refuse(errc::unavailable, "The read models are " +
                                         std::to_string(wanted - reached) +
                                         " events behind position " +
                                         std::to_string(wanted) + "; retry");
      }));
}

}  // namespace bc::actors::api
