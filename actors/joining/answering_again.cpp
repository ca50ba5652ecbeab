#include "actors/joining/join_run.hpp"
#include "base/encoding.hpp"

#include <variant>

// A join whose answer may have been given before.
namespace bc::actors {

void join_run::on_answer_holder(std::optional<events::claim_holder> holder) {
  if (!holder || is_over(*holder))
    return check_token();
  give_stored(*holder, &join_run::check_token);
}

void join_run::give_stored(const events::claim_holder& holder,
                           plain_step otherwise) {
  if_void_ = otherwise;
  find_stored_answer(streams_, holder,
                     {token_id_->str(), to_hex(csr_sha256_), call_.correlation,
                      decision_time()},
                     then(&join_run::on_stored));
}

void join_run::on_stored(found_answer found) {
  if (const auto* why = std::get_if<events::rejected>(&found))
    return try_again(why->time);
  if (auto* answer = std::get_if<signed_text>(&found))
    return give_joined(std::move(*answer));
  answer_is_void();
}

void join_run::answer_is_void() {
  answer_held_ = true;
  (this->*if_void_)();
}

}  // namespace bc::actors
