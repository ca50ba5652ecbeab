#include "daemon/tpm_doctor.hpp"

#include "daemon/handover.hpp"
#include "daemon/helper_client.hpp"
#include "daemon/machine_keys.hpp"
#include "daemon/tpm/local_keeper.hpp"

namespace bc::daemon {

namespace {

using use = tpm_settings::use;

const std::string another_tpm =
    "restore access to that TPM; where it was cleared or replaced, join again "
    "as root: bcd join --reset --yes --attestor tpm (for another EK delete the "
    "old node first: better-compute nodes delete NODE --yes)";

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

class examination {
 public:
  examination(const config& c, const node_identity* me, const tpm_look& look)
      : config_(c), look_(look) {
    if (me == nullptr)
      return;
    key_in_tpm_ = me->key.blobs() != nullptr;
    named_ = named_ak(me->who.certificate_chain.front());
  }

  std::vector<finding> run() {
    if (opens()) {
      device();
      endorsement_key();
      attestation_key();
    }
    if (look_.helper)
      helper(*look_.helper);
    return std::move(out_);
  }

 private:
  void say(const char* check, verdict how, std::string message,
           std::string advice = {}) {
    out_.push_back({check, how, std::move(message), std::move(advice)});
  }

  [[nodiscard]] bool needed() const {
    return key_in_tpm_ || named_ || config_.tpm.enabled == use::always;
  }
  [[nodiscard]] std::string why_needed() const {
    return named_        ? "the certificate names its AK"
           : key_in_tpm_ ? "the node's key is in it"
                         : "[tpm] enabled is \"true\"";
  }

  bool opens() {
    constexpr auto* check = "tpm";
    if (config_.tpm.enabled == use::never) {
      if (key_in_tpm_ || named_)
        say(check, verdict::failed,
            why_needed() + ", but [tpm] enabled is \"false\"",
            "set [tpm] enabled = \"auto\"");
      else
        say(check, verdict::ok, "not used: [tpm] enabled is \"false\"");
      return false;
    }
    if (!look_.is_there) {
      if (needed())
        say(check, verdict::failed,
            why_needed() + ", but there is no TPM at " + config_.tpm.tcti,
            "switch the TPM on in the firmware's settings, or set [tpm] tcti");
      else
        say(check, verdict::ok,
            "none at " + config_.tpm.tcti + "; the key is in a file");
      return false;
    }
    if (look_.closed.empty())
      return true;
    say(check, needed() ? verdict::failed : verdict::warning,
        needed() ? why_needed() + ", but " + look_.closed : look_.closed,
        "run bcd doctor as root; if it is root, what the message names is "
        "missing, or another program holds the TPM");
    return false;
  }

  void device() {
    constexpr auto* check = "tpm";
    const auto& f = look_.facts;
    const auto named =
        "a TPM of " + (f.manufacturer.empty() ? std::string{"an unknown maker"}
                                              : f.manufacturer);
    const bool owner =
        f.owner_has_password && config_.tpm.owner_auth_file.empty();
    const bool endorsement =
        f.endorsement_has_password && config_.tpm.endorsement_auth_file.empty();
    if (owner || endorsement)
      return say(check, needed() ? verdict::failed : verdict::warning,
                 named + "; " +
                     (owner && endorsement ? "its owner and endorsement "
                                             "hierarchies have passwords"
                      : owner ? "its owner hierarchy has a password"
                              : "its endorsement hierarchy has a password") +
                     " that bcd is not given",
                 std::string{"put it in a file of mode 0600 and set [tpm] "} +
                     (owner ? "owner_auth_file" : "") +
                     (owner && endorsement ? " and " : "") +
                     (endorsement ? "endorsement_auth_file" : ""));
    if (f.in_lockout)
      return say(check, verdict::warning,
                 named + ", in lockout after failed authorisations",
                 "bcd's keys are outside of it; other programs may wait: "
                 "tpm2_dictionarylockout -c, with the lockout's password");
    say(check, verdict::ok, named);
  }

  void endorsement_key() {
    constexpr auto* check = "tpm-ek";
    if (!look_.ek)
      return say(check, named_ ? verdict::failed : verdict::warning,
                 "no endorsement key: " + look_.no_ek,
                 "without it the machine cannot join with --attestor tpm");
    const auto& f = look_.facts;
    const auto there = f.certificates.empty()
                           ? std::string{"no EK certificate"}
                           : "EK certificates: " + list(f.certificates);
    if (!look_.ek->warning.empty())
      return say(check, verdict::warning,
                 "EK " + look_.ek->kind + "; " + look_.ek->warning,
                 "an operator admits it by its EK hash or by approval; a "
                 "firmware update of the TPM may have made new keys");
    say(check, verdict::ok,
        "EK " + look_.ek->kind +
            (look_.ek->certificate.empty() ? " without" : " with") +
            " a certificate; " + there);
  }

  void attestation_key() {
    constexpr auto* check = "tpm-ak";
    const bool fits = !look_.ak.empty() && (!named_ || *named_ == look_.ak);
    if (fits)
      return say(
          check, verdict::ok,
          named_ ? look_.ak + ", as the certificate names it" : look_.ak);
    if (look_.ak.empty())
      return say(check, needed() ? verdict::failed : verdict::warning,
                 "no attestation key: " + look_.no_ak,
                 named_ ? another_tpm : "see what the TPM answered");
    say(check, verdict::failed,
        "the certificate names " + *named_ + ", the TPM derives " + look_.ak,
        another_tpm);
  }

  void helper(const helper_look& h) {
    constexpr auto* check = "tpm-helper";
    const auto who = "bcd helper at " + config_.helper->socket.string();
    if (!h.no_user.empty())
      return say(check, verdict::failed, h.no_user,
                 "make the user (useradd --system), or set [helper] user");
    const bool has_tpm = config_.tpm.enabled != use::never;
    if (has_tpm && h.ak.empty())
      return say(check, needed() ? verdict::failed : verdict::warning,
                 "bcd node has the TPM by it, but " + h.no_ak,
                 "systemctl enable --now bcd-helper; what it says: journalctl "
                 "-u bcd-helper. It answers root and its user alone");
    const auto& other = named_ ? *named_ : look_.ak;
    if (has_tpm && !other.empty() && h.ak != other)
      return say(check, verdict::failed,
                 who + " derives " + h.ak + ", " +
                     (named_ ? "the certificate names " : "the TPM derives ") +
                     other,
                 "see tpm-ak; if that is well, it has another TPM or runs an "
                 "older [tpm]: systemctl restart bcd-helper");
    if (!h.no_hardware.empty())
      return say(
          check, verdict::warning,
          "bcd node has the hardware identifiers by it, but " + h.no_hardware,
          "without them the machine does not come back by its "
          "certificate: journalctl -u bcd-helper");
    say(check, verdict::ok, who + " answers for " + config_.helper->user);
  }

  const config& config_;
  const tpm_look& look_;
  bool key_in_tpm_ = false;
  std::optional<std::string> named_;
  std::vector<finding> out_;
};

}  // namespace

namespace {

helper_look look_at_helper(const helper_settings& h, bool has_tpm) {
  helper_look out;
  if (auto user = account_of(h.user); !user)
    out.no_user = user.error().message;
  if (auto claims = helper_hardware(h.socket)->read(); !claims)
    out.no_hardware = claims.error().message;
  if (!has_tpm)
    return out;
  auto ak = helper_keeper(h.socket)->ak_public();
  if (ak)
    out.ak = tpm::statement_of(ak.value());
  else
    out.no_ak = ak.error().message;
  return out;
}

}  // namespace

tpm_look look_at_tpm(const config& c, const std::string& recorded) {
  tpm_look out;
  if (c.helper)
    out.helper = look_at_helper(*c.helper, c.tpm.enabled != use::never);
  if (c.tpm.enabled == use::never)
    return out;
  out.is_there = tpm::seems_there(c.tpm.tcti);
  if (!out.is_there)
    return out;
  auto opened = tpm::open_machine_tpm(c.tpm);
  if (!opened) {
    out.closed = opened.error().message;
    return out;
  }
  auto& m = opened.value();
  auto facts = m.facts();
  if (!facts) {
    out.closed = facts.error().message;
    return out;
  }
  out.facts = std::move(facts).value();
  auto ek =
      m.choose_ek(recorded.empty() ? std::nullopt : std::optional{recorded});
  if (ek)
    out.ek = std::move(ek).value();
  else
    out.no_ek = ek.error().message;
  auto ak = m.ak_public();
  if (ak)
    out.ak = tpm::statement_of(ak.value());
  else
    out.no_ak = ak.error().message;
  return out;
}

std::vector<finding> judge_tpm(const config& c, const node_identity* me,
                               const tpm_look& look) {
  return examination{c, me, look}.run();
}

}  // namespace bc::daemon
