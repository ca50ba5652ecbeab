#include "daemon/doctor.hpp"

#include "base/http_date.hpp"
#include "daemon/doctor_files.hpp"
#include "daemon/rejoin_doctor.hpp"
#include "daemon/renewal_loop.hpp"
#include "daemon/site_doctor.hpp"
#include "daemon/tpm_doctor.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/certificate.hpp"
#include "pki/chain.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr mode_t writable_by_others = 022;
constexpr int late_percent = 80;

// One examination: what one check finds out, the next ones use.
class examination {
 public:
  examination(const patient& p, const doctor_tools& tools)
      : patient_(p),
        tools_(tools),
        machine_time_(tools.now()),
        time_(machine_time_) {}

  std::vector<finding> run() {
    if (!configuration())
      return std::move(out_);
    read_identity();
    ask_gateway();
    out_.push_back(judge_join_key(config_, look_.pair.has_value()));
    if (auto f = judge_files(config_.data_dir, look_.absent))
      out_.push_back(std::move(*f));
    the_tpm();
    identity_check();
    gateway();
    clock();
    if (look_.pair) {
      daemon();
      session();
      renewal();
      if (look_.pair->who.role == "site")
        site();
    }
    return std::move(out_);
  }

 private:
  void say(const char* check, verdict how, std::string message,
           std::string advice = {}) {
    out_.push_back({check, how, std::move(message), std::move(advice)});
  }

  bool configuration() {
    constexpr auto* check = "configuration";
    auto loaded = load_config(patient_.config_file);
    if (!loaded) {
      say(check, verdict::failed, loaded.error().message,
          "mend the file, or run the install script again");
      return false;
    }
    config_ = loaded.value();
    if (!patient_.data_dir.empty())
      config_.data_dir = patient_.data_dir;
    struct stat about {};
    bool changeable = ::stat(patient_.config_file.c_str(), &about) == 0 &&
                      (about.st_mode & writable_by_others) != 0;
    if (changeable)
      say(check, verdict::warning,
          patient_.config_file.string() + " has mode " + octal(about.st_mode) +
              ": others can change its pins",
          "chmod 0600 " + patient_.config_file.string());
    else
      say(check, verdict::ok, patient_.config_file.string());
    return true;
  }

  void read_identity() {
    auto found = look_at_identity(config_.data_dir,
                                  key_places_of(config_, {}).keys.keeper());
    if (found)
      look_ = std::move(found).value();
    else
      look_.why = found.error().message;
    if (auto text = read_status(config_.data_dir))
      if (auto read = decode_node_status(*text))
        status_ = read.value();
    // Of an identity that was set aside since.
    if (status_ && (!look_.pair || status_->node_id != look_.pair->who.node_id))
      status_.reset();
    if (look_.pair) {
      config_ = with_pins_of(std::move(config_), look_.pair->who);
      auto leaf =
          pki::parse_certificate(look_.pair->who.certificate_chain.front());
      leaf_ = {leaf.value().not_before, leaf.value().not_after};
      if (status_ && status_->clock_offset)
        time_ += *status_->clock_offset;
    }
  }

  // Before the checks that need the time: what the daemon learnt may be old,
  // and the clock set right since.
  void ask_gateway() {
    const bool with_ours = look_.pair && !is_over();
    ask(with_ours);
    if (date_)
      machine_time_ = time_ = *date_;
    if (date_ && look_.pair && !with_ours && !is_over())
      ask(true);
  }

  void ask(bool with_ours) {
    with_ours_ = with_ours;
    got_ = tools_.get(config_, "/healthz", with_ours ? &*look_.pair : nullptr);
    if (got_.what == exchange::fate::lost && got_.certificate_rejected) {
      rejected_ = got_.why;
      with_ours_ = false;
      got_ = tools_.get(config_, "/healthz", nullptr);
    }
    if (got_.what == exchange::fate::answered)
      date_ = from_http_date(got_.date);
  }

  // Without the gateway both clocks must say so: either may be wrong.
  [[nodiscard]] bool is_over() const {
    return time_ >= leaf_.not_after && machine_time_ >= leaf_.not_after;
  }
  [[nodiscard]] bool may_be_over() const {
    return time_ >= leaf_.not_after || machine_time_ >= leaf_.not_after;
  }

  void identity_check() {
    constexpr auto* check = "identity";
    if (look_.absent)
      return say(check, verdict::failed, "this machine has not joined",
                 "bcd join --config " + patient_.config_file.string() +
                     " < token-file");
    if (!look_.pair)
      return say(check, verdict::failed,
                 "the identity does not load: " + look_.why,
                 ::geteuid() == 0 ? join_again
                                  : "run bcd doctor as root; if it says the "
                                    "same: " +
                                        join_again);
    const auto& who = look_.pair->who;
    if (is_over())
      return say(check, verdict::failed, expired_text(leaf_.not_after),
                 join_again);
    if (who.site != config_.site)
      return say(check, verdict::failed,
                 "the identity is of another site (" + who.site + ") than " +
                     patient_.config_file.string() + " says",
                 "mend the configuration, or " + join_again);
    if (may_be_over()) {
      bool by_machine = machine_time_ >= leaf_.not_after;
      return say(check, verdict::warning,
                 who.node_id + "; by " +
                     (by_machine ? "this machine's clock"
                                 : "what the server signed last") +
                     " its certificate expired at " +
                     to_rfc3339(leaf_.not_after) + ", by " +
                     (by_machine ? "what the server signed last"
                                 : "this machine's clock") +
                     " it did not",
                 "set the clock, and see the check of the gateway, which "
                 "would tell the time");
    }
    say(check, verdict::ok, who.node_id + ", role " + who.role);
    if (time_ < leaf_.not_before)
      return say("certificate", verdict::warning,
                 "by this machine's clock the certificate begins only at " +
                     to_rfc3339(leaf_.not_before),
                 "set the clock");
    auto whole = leaf_.not_after - leaf_.not_before;
    auto used = (time_ - leaf_.not_before) * 100 / whole;
    auto message = "ends at " + to_rfc3339(leaf_.not_after) + "; " +
                   std::to_string(used) + " % of its lifetime is over";
    if (used >= late_percent)
      say("certificate", verdict::warning, message,
          "it should have been renewed by now; see the checks below");
    else
      say("certificate", verdict::ok, message);
  }

  void gateway() {
    constexpr auto* check = "gateway";
    if (!rejected_.empty() && !is_over())
      return say(check, verdict::failed,
                 config_.gateway_url +
                     " does not take the node's certificate: " + rejected_,
                 "if the clocks are right, the certificate is not of this "
                 "deployment, or its CA was replaced: " +
                     join_again);
    if (got_.what == exchange::fate::untrusted)
      return say(check, verdict::failed,
                 config_.gateway_url + " fails a check: " + got_.why,
                 "is something between this machine and the gateway? If not: " +
                     std::string{stale_pins_advice});
    if (got_.what != exchange::fate::answered)
      return say(check, verdict::failed, got_.why,
                 "does the network let this machine reach the gateway, and "
                 "does it run?");
    if (!pki::chain_valid_at(got_.chain, time_))
      return say(check, verdict::failed,
                 config_.gateway_url +
                     " has a certificate that is not valid "
                     "now",
                 "its operator: better-compute pki issue-gateway");
    say(check, verdict::ok,
        config_.gateway_url + " answers and has the pin" +
            (with_ours_ ? ", and takes the node's certificate" : ""));
  }

  // The gateway's own clock, over its pinned connection; else what the server
  // signed last for the running daemon.
  void clock() {
    constexpr auto* check = "clock";
    std::optional<milliseconds> offset;
    std::string by = "the gateway's clock";
    auto machine = tools_.now();
    if (date_)
      offset = *date_ - machine;
    else if (status_ && status_->clock_offset) {
      offset = status_->clock_offset;
      by = "the time that the server signed at " +
           to_rfc3339(*status_->offset_learnt);
    }
    if (!offset)
      return say(check, verdict::warning, "nobody tells the time",
                 "see the check of the gateway");
    if (*offset > tolerated_offset || *offset < -tolerated_offset)
      return say(check, verdict::warning,
                 clock_text(*offset, machine) + ", by " + by,
                 "set the clock, for example by NTP; bcd goes by the server's "
                 "time meanwhile");
    say(check, verdict::ok, "right within a minute, by " + by);
  }

  void daemon() {
    constexpr auto* check = "daemon";
    running_ = tools_.daemon(config_.data_dir);
    if (running_)
      say(check, verdict::ok, "runs (pid " + std::to_string(*running_) + ")");
    else
      say(check, verdict::warning,
          "bcd node does not run: nobody renews the certificate",
          "systemctl enable --now " + service());
  }

  [[nodiscard]] std::string service() const {
    return look_.pair->who.role == "site" ? "bcd-site" : "bcd";
  }

  void site() {
    for (auto& f : examine_site(
             {config_, look_.pair->who.node_id, running_.has_value(),
              read_site_status(config_.data_dir), tools_.now(), time_}))
      out_.push_back(std::move(f));
  }

  void the_tpm() {
    const auto* me = look_.pair ? &*look_.pair : nullptr;
    const auto found =
        tools_.tpm(config_, me == nullptr ? std::string{} : me->who.ek_kind);
    for (auto& f : judge_tpm(config_, me, found))
      out_.push_back(std::move(f));
  }

  void session() {
    constexpr auto* check = "session";
    if (!running_ || !status_ || status_->session.empty())
      return;
    if (status_->session == "connected")
      say(check, verdict::ok, "connected");
    else
      say(check, status_->session_refused ? verdict::failed : verdict::warning,
          status_->session,
          status_->session_refused ? refused_text(leaf_.not_after)
                                   : "see the check of the gateway; bcd node "
                                     "tries again by itself");
  }

  void renewal() {
    constexpr auto* check = "renewal";
    if (status_ && status_->state == renewal_state::refused)
      return say(check, verdict::failed, "the server refuses to renew",
                 refused_text(leaf_.not_after));
    if (is_over())
      return out_.push_back(judge_rejoin(
          {*look_.pair, time_, running_.has_value(),
           !config_.helper && config_.tpm.enabled != tpm_settings::use::never,
           status_}));
    if (may_be_over())
      return say(check, verdict::warning,
                 "not possible if the certificate expired",
                 "see the check of the identity");
    if (status_ && status_->state == renewal_state::retrying)
      return say(
          check, verdict::warning, "the last attempt failed: " + status_->why,
          "it is tried again by itself; until " + to_rfc3339(leaf_.not_after) +
              " it must have worked, or the machine has to join again");
    if (auto f = judge_room(config_.data_dir))
      return out_.push_back(std::move(*f));
    auto when = "between " + to_rfc3339(renewal_due(leaf_, 0)) + " and " +
                to_rfc3339(renewal_due(leaf_, 999));
    if (status_ && status_->state == renewal_state::fine && running_)
      when = "about " + to_rfc3339(status_->next_renewal);
    say(check, verdict::ok,
        (running_ ? "a new key and certificate are asked for "
                  : "with bcd node running, a new key and certificate would "
                    "be asked for ") +
            when);
  }

  const patient& patient_;
  const doctor_tools& tools_;
  time_point machine_time_;  // the gateway's, once it told it
  time_point time_;          // the server's as far as known
  config config_;
  identity_look look_;
  lifetime leaf_;
  std::optional<node_status> status_;
  exchange got_;            // what the gateway answered last
  bool with_ours_ = false;  // and it took our certificate
  std::string rejected_;    // why it did not take it
  std::optional<time_point> date_;
  std::optional<int> running_;
  std::vector<finding> out_;
};

}  // namespace

std::vector<finding> examine(const patient& p, const doctor_tools& tools) {
  return examination{p, tools}.run();
}

}  // namespace bc::daemon
