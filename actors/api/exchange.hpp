#pragma once

#include "actors/api/api.hpp"
#include "base/json.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bc::actors::api {

/// Who calls, once the credential's secret verified.
struct caller {
  credential_id credential;
  tenant_id tenant;
  std::string principal;
  std::vector<events::credential::grant> grants;
  bool root = false;
};

/// One call under way. It has one answer: the first of answer, refuse and
/// break_off counts.
class exchange {
 public:
  exchange(std::shared_ptr<const api_environment> environment,
           std::shared_ptr<ledger> ledger_of_streams, api_call raw,
           std::function<void(api_reply)> done);

  /// 200 with a JSON object.
  void answer(std::string json);
  /// The caller's mistake, with its code, message and path.
  void refuse(const fault& why);
  void refuse(errc code, std::string message);
  /// A body over its limit.
  void refuse_size();
  /// Ours: UNAVAILABLE or INTERNAL, without a word of why.
  void break_off(const fault& why);

  /// The input, which its schema has passed.
  [[nodiscard]] json::reader in() const { return json::reader{input}; }
  /// A batch of this call, in the principal's name.
  [[nodiscard]] events::batch new_batch() const;
  /// An event of this call is at the position: its principal's reads show it.
  void wrote(std::uint64_t position) const;
  /// Runs `again`, at most three times in a call; then UNAVAILABLE.
  void retry(const std::function<void()>& again);

  std::shared_ptr<const api_environment> env;
  std::shared_ptr<ledger> streams;
  api_call call;
  caller who;
  json::document input;

 private:
  /// `told`: why is in the log already.
  void reply(int status, std::string body, bool told = false);

  std::function<void(api_reply)> done_;
  int tries_ = 1;
};

using exchange_ptr = std::shared_ptr<exchange>;

/// A callback for the ledger: `next` gets the value, a fault breaks the call
/// off.
template <class Next>
[[nodiscard]] auto then(exchange_ptr x, Next next) {
  return [x = std::move(x), next = std::move(next)](auto outcome) mutable {
    if (!outcome)
      return x->break_off(outcome.error());
    next(std::move(outcome).value());
  };
}

/// Appends a batch, and notes it (exchange::wrote). `written` gets the position
/// of its last event; a name that is held answers ALREADY_EXISTS; anything else
/// that moved on runs `again`.
void append(exchange_ptr x, events::batch b,
            std::function<void(std::uint64_t)> written,
            std::function<void()> again);

/// Confirms a decision without events by its preconditions. `held` gets the
/// journal's position.
void confirm(exchange_ptr x, events::batch preconditions,
             std::function<void(std::uint64_t)> held,
             std::function<void()> again);

/// Refuses by what may be undone, once its preconditions held: what this
/// process knows may be older than what another wrote. Else `again` runs.
void refuse_confirmed(exchange_ptr x, events::batch preconditions,
                      const fault& why, std::function<void()> again);

}  // namespace bc::actors::api
