#include "daemon/rejoin_doctor.hpp"

#include "daemon/rejoin.hpp"

namespace bc::daemon {

const std::string join_again =
    "join again as root: bcd join --reset --yes, then bcd join; stop the "
    "service first: systemctl stop bcd, and systemctl restart bcd after";

finding judge_rejoin(const rejoin_patient& p) {
  constexpr auto* check = "renewal";
  const bool in_window = may_rejoin(p.me, p.time);
  const bool by_tpm = may_rejoin_by_tpm(p.me);
  if (!in_window && by_tpm && !p.may_use_tpm)
    return {check, verdict::failed,
            "a certificate that expired so long ago cannot be renewed, and "
            "joining again by the TPM that it names takes root here",
            "as root: systemctl stop bcd; bcd join --reset --yes --attestor "
            "tpm; systemctl restart bcd"};
  if (!in_window && !by_tpm)
    return {check, verdict::failed,
            "a certificate that expired cannot be renewed, and this one "
            "cannot bring the machine back any more",
            join_again};
  const auto until =
      in_window ? " by its certificate, until " +
                      to_rfc3339(p.me.who.not_after + rejoin_window)
                : std::string{" by the TPM that its certificate names"};
  if (p.status && p.status->state == renewal_state::rejoining &&
      !p.status->why.empty())
    return {check, verdict::failed,
            "it joins again" + until + ", but: " + p.status->why, join_again};
  return {
      check, verdict::warning,
      (p.running ? "bcd node joins again"
                 : "with bcd node running, it would join again") +
          until,
      p.running ? "nothing, if the server lets it" : "systemctl restart bcd"};
}

}  // namespace bc::daemon
