#include "daemon/join_attempt.hpp"

#include "base/encoding.hpp"
#include "base/wire.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/printable.hpp"
#include "daemon/renewal_plan.hpp"
#include "pki/chain.hpp"
#include "pki/claims_digest.hpp"
#include "pki/jwe.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace bc::daemon {

namespace {

constexpr milliseconds first_wait{1'000};
constexpr seconds longest_wait{30};
// What a server may ask for between two tries of a request that waits.
constexpr seconds longest_deferral{3'600};
constexpr int stale_tries = 2;

// Half to the whole of the wait, so that machines that failed together do not
// come back together.
milliseconds with_jitter(milliseconds wait) {
  auto random = pki::random_bytes(2);
  auto part = (random[0] << 8 | random[1]) % 1000;
  return wait / 2 + wait * part / 2000;
}

// The one attempt to join: what it holds lives as long as the command.
class attempt {
 public:
  attempt(const config& c, const join_options& options,
          const identity_store& store, const pki::hardware_claims& hardware,
          const std::optional<token_seal>& token,
          const pending_request& request)
      : config_(c),
        options_(options),
        store_(store),
        hardware_(hardware),
        token_(token),
        request_(request),
        expected_{{c.join_signing_key_pin},
                  pki::sha256(request.csr),
                  request.key.pub(),
                  c.site,
                  options.role,
                  options.node_id},
        outcome_unknown_(request.from_earlier_run) {}

  join_outcome run() {
    while (!done_)
      step();
    return std::move(*done_);
  }

 private:
  void step() {
    auto body = request();
    if (!body)
      return not_now(body.error());
    fills_ = 0;
    auto text = wire::encode(body.value());
    auto got = options_.send ? options_.send(text) : post_join(config_, text);
    switch (got.what) {
      case exchange::fate::answered:
        sent_ = true;
        outcome_unknown_ = true;  // until the answer is known to be genuine
        return judge(got);
      case exchange::fate::lost:
        sent_ = true;
        outcome_unknown_ = true;
        return retry_or(losses_, join_exit::unreachable, got.why, patient());
      case exchange::fate::unreachable:
        // A gateway that was there a moment ago may be starting again.
        if (retried_ || patient())
          return retry_or(losses_, join_exit::unreachable, got.why, patient());
        return finish(join_exit::unreachable, got.why);
      case exchange::fate::untrusted:
        return finish(join_exit::untrusted,
                      "the gateway's certificate chain failed a check: " +
                          got.why + "; the token was not sent");
    }
  }

  result<wire::join_request> request() {
    wire::join_request body;
    if (options_.evidence)
      body.attestor = options_.evidence->attestor;
    body.role = pki::role_text(options_.role);
    body.site_id = config_.site;
    body.node_id = options_.node_id;
    body.csr = request_.csr;
    body.hardware = to_wire(hardware_);
    std::optional<std::string> sealed;
    if (token_)
      sealed = token_->seal(expected_.csr_sha256, body, now() + offset_);
    if (options_.evidence) {
      BC_TRYV(options_.evidence->fill(body, std::move(sealed)));
    } else {
      body.sealed_token = std::move(sealed);
    }
    return body;
  }

  void not_now(const fault& why) {
    switch (why.code) {
      case errc::unavailable:
        return retry_or(fills_, join_exit::unreachable, why.message, patient());
      case errc::rate_limited:  // or another answer that may pass
        return retry_or(fills_, join_exit::unavailable, why.message, patient());
      case errc::not_found:  // a TPM that comes back
        return retry_or(fills_, join_exit::local, why.message, deferred());
      case errc::access_denied:
        return finish(join_exit::untrusted, why.message);
      case errc::unauthenticated:
        return finish(join_exit::refused,
                      why.message + "\nCSR " + short_hash());
      case errc::invalid_config:
        return finish(join_exit::server_config, why.message);
      default:
        return finish(join_exit::local, why.message);
    }
  }

  void judge(const exchange& got) {
    auto answer = wire::decode_join_answer(got.status, got.body);
    if (!answer)
      return finish(join_exit::untrusted,
                    "the gateway's answer is not one of the join protocol");
    const auto& a = answer.value();
    bool must_be_signed = a.what != wire::join_answer::kind::failed ||
                          a.code == errc::access_denied;
    std::optional<time_point> server_time;
    if (a.time || must_be_signed) {
      auto time = check_signed_time(a, expected_);
      if (!time)
        return finish(join_exit::untrusted, check_failed("signature"));
      if (!pki::chain_valid_at(got.chain, time.value()))
        return finish(join_exit::untrusted,
                      "the gateway's certificate is not valid at the server's "
                      "time " +
                          to_rfc3339(time.value()));
      server_time = time.value();
    }
    switch (a.what) {
      case wire::join_answer::kind::joined:
        return accept(a, *server_time);
      case wire::join_answer::kind::renewed:
      case wire::join_answer::kind::challenge:
        return finish(join_exit::untrusted, "the answer is not to a join");
      case wire::join_answer::kind::deferred:
        return wait_for_approval(a);
      case wire::join_answer::kind::failed:
        return failed(a, server_time);
    }
  }

  void accept(const wire::join_answer& answer, time_point server_time) {
    auto checked = check_joined(answer, expected_);
    if (checked.failed != answer_check::none)
      return finish(join_exit::untrusted,
                    check_failed(answer_check_text(checked.failed)));
    // An answer kept back for long is no identity any more.
    if (server_time < checked.not_before || server_time >= checked.not_after)
      return finish(join_exit::untrusted, check_failed("validity"));
    auto who = identity_of(config_, checked.body, checked.not_after);
    who.attestor =
        options_.evidence ? options_.evidence->attestor : "join-token";
    if (options_.evidence && options_.evidence->ek_kind)
      who.ek_kind = options_.evidence->ek_kind();
    if (auto kept = store_.keep(request_.key, who); !kept)
      return finish(join_exit::local,
                    kept.error().message +
                        "; run bcd join again with the same token within 10 "
                        "minutes");
    done_ = joined_as(who, false);
  }

  void wait_for_approval(const wire::join_answer& answer) {
    auto checked = check_deferred(answer, expected_);
    if (checked.failed != answer_check::none)
      return finish(join_exit::untrusted,
                    check_failed(answer_check_text(checked.failed)));
    auto request = printable(checked.body.request_id);
    auto what = "a person must approve this machine first: request " + request +
                ", CSR " + short_hash();
    if (!options_.until_decided)
      return finish(join_exit::refused, what);
    store_.refresh_pending();
    losses_ = conflicts_ = refusals_ = 0;
    tell(what +
         "; waiting (an operator decides: better-compute join-requests "
         "approve " +
         request + ")");
    request_id_ = request;
    const milliseconds least =
        std::clamp(seconds{checked.body.retry_after_seconds}, seconds{1},
                   longest_deferral);
    rest(least + with_jitter(least / 10));
  }

  [[nodiscard]] bool deferred() const { return !request_id_.empty(); }

  // Whoever does not answer is waited for, for as long as it takes: nobody
  // stands by a machine that waits for an approval, or booted over a network.
  [[nodiscard]] bool patient() const {
    return deferred() || (options_.until_decided && options_.evidence &&
                          options_.evidence->may_be_stale);
  }

  void failed(const wire::join_answer& answer,
              std::optional<time_point> server_time) {
    switch (answer.code) {
      case errc::access_denied:
        return refused(*server_time);
      case errc::conflict:
        return retry_or(conflicts_, join_exit::conflict,
                        "another join of this machine was faster: " +
                            printable(answer.message),
                        deferred());
      case errc::invalid_config:
        return finish(join_exit::server_config,
                      "the server cannot serve joins (INVALID_CONFIG): " +
                          printable(answer.message));
      case errc::invalid_input:
        return finish(join_exit::refused,
                      "the server did not understand the request "
                      "(INVALID_INPUT): " +
                          printable(answer.path) + " " +
                          printable(answer.message));
      default:
        return retry_or(losses_, join_exit::unavailable,
                        "the server cannot join machines now (" +
                            std::string{wire_text(answer.code)} +
                            "): " + printable(answer.message),
                        patient());
    }
  }

  // A clock that is off makes a good seal look old: seal again once, by the
  // time the server signed (CASES 111).
  void refused(time_point server_time) {
    auto off = server_time - now();
    bool clock_is_off = off > tolerated_offset || off < -tolerated_offset;
    if (clock_is_off && token_ && !corrected_) {
      corrected_ = true;
      offset_ = off;
      return;
    }
    const bool stale = options_.evidence && options_.evidence->may_be_stale;
    if (stale && refusals_ < stale_tries) {
      wait(first_wait * (1 << refusals_));
      ++refusals_;
      return;
    }
    // Perhaps another token was given this time, and the answer to the one
    // that admitted this CSR can still be had.
    outcome_unknown_ = request_.from_earlier_run && store_.pending_is_recent();
    finish(join_exit::refused,
           std::string{wire::refused_message} + "\nCSR " + short_hash());
  }

  // `endless`: for as long as it takes.
  void retry_or(int& count, join_exit code, const std::string& why,
                bool endless) {
    if (count >= options_.retries && !endless)
      return finish(code, why);
    if (endless)
      tell(why + "; trying again");
    retried_ = true;
    wait(std::min<milliseconds>(first_wait * (1 << std::min(count, 5)),
                                longest_wait));
    ++count;
  }

  // Once for each change: a request may wait for a day.
  void tell(const std::string& line) {
    if (std::exchange(told_, line) != line && options_.say)
      options_.say(line);
  }

  void wait(milliseconds time) { rest(with_jitter(time)); }

  void rest(milliseconds time) {
    if (options_.wait)
      options_.wait(time);
    else
      std::this_thread::sleep_for(time);
  }

  void finish(join_exit code, std::string message) {
    if (!outcome_unknown_)
      store_.forget_pending();
    else if (sent_ && code != join_exit::refused)
      store_.refresh_pending();
    done_ = ended(code, std::move(message));
  }

  static std::string check_failed(std::string_view which) {
    return "the answer failed the check of its " + std::string{which} +
           "; nothing was written";
  }

  [[nodiscard]] std::string short_hash() const {
    return to_hex(byte_view{expected_.csr_sha256}.first(8));
  }

  [[nodiscard]] time_point now() const { return machine_time(options_); }

  const config& config_;
  const join_options& options_;
  const identity_store& store_;
  const pki::hardware_claims& hardware_;
  const std::optional<token_seal>& token_;
  const pending_request& request_;
  const expected_answer expected_;
  bool outcome_unknown_;
  bool sent_ = false;
  int fills_ = 0;   // of the evidence, in a row, that failed
  int losses_ = 0;  // of the gateway's answers
  int conflicts_ = 0;
  int refusals_ = 0;
  std::string request_id_;  // of a deferral; empty: none yet
  std::string told_;
  bool retried_ = false;
  milliseconds offset_{0};
  bool corrected_ = false;
  std::optional<join_outcome> done_;
};

}  // namespace

std::string token_seal::seal(const pki::sha256_digest& csr_sha256,
                             const wire::join_request& body,
                             time_point now) const {
  return pki::seal_token(recipient, token.expose_text(),
                         {csr_sha256, pki::claims_digest(body)}, now);
}

join_outcome ended(join_exit code, std::string message) {
  return {code, std::move(message), {}, std::nullopt, false};
}

join_outcome joined_as(const identity& who, bool already) {
  return {join_exit::joined,
          std::string{already ? "already " : ""} + "joined as " + who.node_id +
              "\ncertificate expires at " + to_rfc3339(who.not_after),
          who.node_id, who.not_after, already};
}

time_point machine_time(const join_options& options) {
  return options.time != nullptr ? options.time->now() : system_clock{}.now();
}

join_outcome attempt_join(const config& c, const join_options& options,
                          const identity_store& store,
                          const pki::hardware_claims& hardware,
                          const std::optional<token_seal>& token,
                          const pending_request& request) {
  return attempt{c, options, store, hardware, token, request}.run();
}

}  // namespace bc::daemon
