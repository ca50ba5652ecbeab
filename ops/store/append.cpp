#include "ops/store/append.hpp"

#include <variant>

namespace bc::store {

append_end append_known(events::journal& journal, const events::batch& b,
                        fault refused) {
  auto outcomes = journal.append(std::span{&b, 1});
  if (outcomes) {
    auto* done = std::get_if<events::appended>(&outcomes.value().front());
    if (done == nullptr)
      return {std::move(refused)};
    return {std::move(*done)};
  }
  auto found = journal.outcome(b.id);
  if (found && found.value())
    return {std::move(*found.value())};
  return {std::move(outcomes).error(), static_cast<bool>(found)};
}

}  // namespace bc::store
