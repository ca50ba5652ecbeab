#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/revocation_list.hpp"
#include "pki/bundle.hpp"
#include "projections/queries.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

/// The certificate revocation lists that a server offers, one for each node CA
/// whose certificates may live: the one that issues, and while the key rotates
/// the one before or the next, by which another process may issue already.
namespace bc::serve {

/// How long a list says that it counts.
inline constexpr seconds revocation_list_lifetime{86'400};
/// With no revocation, a list is made anew after this.
inline constexpr seconds revocation_list_period = revocation_list_lifetime / 2;

/// Which list is the newest. Every process names it alike: it follows from the
/// newest revocation and the clock's half day.
struct list_edition {
  std::uint64_t position = 0;  // of the newest revocation in it; 0: none
  /// CRLNumber: the half day, then 43 bits of position. The half day comes
  /// first so that it also rises after a restore took positions back.
  std::uint64_t number = 0;
  time_point this_update;
  bool operator==(const list_edition&) const = default;
};
[[nodiscard]] list_edition edition_at(
    const std::optional<projections::revocation_row>& newest, time_point now);

/// The lists of each node CA in the bundle, by pki::authority_id, the one that
/// issues first. A row whose certificate names none of them is left out.
/// INTERNAL for a row that is none.
using revocation_list_set = std::vector<
    std::pair<std::string, std::shared_ptr<const gateway::revocation_list>>>;
[[nodiscard]] result<revocation_list_set> make_lists(
    const pki::key_bundle& keys, const list_edition& edition,
    const std::vector<projections::revoked_row>& revoked);

/// Keeps them up to date, on a thread of its own that looks once a second, and
/// once here. All of it outlives the keeper.
class revocation_keeper {
 public:
  revocation_keeper(projections::queries& from, const clock& time,
                    std::shared_ptr<const pki::key_bundle> keys);
  revocation_keeper(const revocation_keeper&) = delete;
  revocation_keeper& operator=(const revocation_keeper&) = delete;
  ~revocation_keeper();

  /// As gateway::find_revocation_list.
  [[nodiscard]] result<std::shared_ptr<const gateway::revocation_list>> find(
      std::string_view authority) const;
  /// Ends the thread, after the look that is going on.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bc::serve
