#pragma once

#include "actors/joining/admission_batch.hpp"
#include "actors/joining/judged_by.hpp"
#include "base/clock.hpp"
#include "base/wire.hpp"
#include "events/admission.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/journal.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <string>
#include <vector>

/// A deployment with keys, and machines that want to join it, without the
/// programs around them.
namespace bc::bench {

struct token {
  events::join_token::created record;
  std::string bearer;  // bcjt_…
};

struct world {
  std::shared_ptr<const pki::key_bundle> keys;
  events::tenant::created tenant;
  events::site::created site;
  events::pool::created pool;
};

/// Keys and directory entries, not yet in any journal.
[[nodiscard]] world make_world();

/// Appends the tenant, site and pool; ends the program when it cannot.
void found(const world& w, events::journal& store);

/// Tokens of so many uses, appended in groups.
[[nodiscard]] std::vector<token> mint_tokens(const world& w,
                                             events::journal& store,
                                             std::size_t count,
                                             std::int64_t uses);

/// Bodies of POST /v1/join of machines never seen before, the i-th with token
/// i modulo their number. Made on all cores.
[[nodiscard]] std::vector<std::string> join_bodies(
    const world& w, const std::vector<token>& tokens, std::size_t count);

/// A token as a join is judged by it, without the directory.
[[nodiscard]] actors::judged_by judged_alone(
    const events::join_token::created& token);
/// One use of the token, which must outlive it.
[[nodiscard]] actors::spend_for spending_of(
    const events::join_token::created& token, const pki::sha256_digest& csr);
inline const events::admitted_identity plain_identity{
    events::node::trust::platform, pki::certificate_role::node, false, false};

/// What the join service appends for such machines.
[[nodiscard]] std::vector<events::batch> join_batches(
    const world& w, const std::vector<token>& tokens, std::size_t count);

/// The value, or the end of the program: a baseline whose statement failed
/// would look fast.
[[noreturn]] void give_up(const fault& f);
template <class T>
T must(result<T> r) {
  if (!r)
    give_up(r.error());
  return std::move(r).value();
}
inline void must(result<void> r) {
  if (!r)
    give_up(r.error());
}

/// Appends or ends the program.
void append_all(events::journal& store, std::vector<events::batch> group);

}  // namespace bc::bench
