#include "daemon/join.hpp"

#include "base/encoding.hpp"
#include "base/wire.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/printable.hpp"
#include "daemon/renewal_plan.hpp"
#include "pki/chain.hpp"
#include "pki/claims_digest.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace bc::daemon {

namespace {

constexpr milliseconds first_wait{1'000};
constexpr std::size_t max_jwk = 4096;

join_outcome ended(join_exit code, std::string message) {
  return {code, std::move(message), {}, std::nullopt, false};
}

join_outcome joined_as(const identity& who, bool already) {
  auto expiry = to_rfc3339(who.not_after);
  auto message = already ? "already joined as " + who.node_id +
                               "\ncertificate expires at " + expiry
                         : "joined as " + who.node_id +
                               "\ncertificate expires at " + expiry;
  return {join_exit::joined, message, who.node_id, who.not_after, already};
}

// Half to the whole of the wait, so that machines that failed together do not
// come back together.
milliseconds with_jitter(milliseconds wait) {
  auto random = pki::random_bytes(2);
  auto part = (random[0] << 8 | random[1]) % 1000;
  return wait / 2 + wait * part / 2000;
}

time_point machine_time(const join_options& options) {
  return options.time != nullptr ? options.time->now() : system_clock{}.now();
}

// The one attempt to join: what it holds lives as long as the command.
class attempt {
 public:
  attempt(const config& c, const join_options& options,
          const identity_store& store, const pki::public_key& recipient,
          const pki::hardware_claims& hardware, const secret_bytes& token,
          const pending_request& request)
      : config_(c),
        options_(options),
        store_(store),
        recipient_(recipient),
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
    auto got = send();
    switch (got.what) {
      case exchange::fate::answered:
        sent_ = true;
        outcome_unknown_ = true;  // until the answer is known to be genuine
        return judge(got);
      case exchange::fate::lost:
        sent_ = true;
        outcome_unknown_ = true;
        return retry_or(losses_, join_exit::unreachable, got.why);
      case exchange::fate::unreachable:
        // A gateway that was there a moment ago may be starting again.
        if (losses_ > 0)
          return retry_or(losses_, join_exit::unreachable, got.why);
        return finish(join_exit::unreachable, got.why);
      case exchange::fate::untrusted:
        return finish(join_exit::untrusted,
                      "the gateway's certificate chain failed a check: " +
                          got.why + "; the token was not sent");
    }
  }

  exchange send() {
    wire::join_request body;
    body.role = pki::role_text(options_.role);
    body.site_id = config_.site;
    body.node_id = options_.node_id;
    body.csr = request_.csr;
    body.hardware = to_wire(hardware_);
    body.sealed_token = pki::seal_token(
        recipient_, token_.expose_text(),
        {expected_.csr_sha256, pki::claims_digest(body)}, now() + offset_);
    auto text = wire::encode(body);
    return options_.send ? options_.send(text) : post_join(config_, text);
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
    const auto& b = checked.body;
    identity who{b.node_id,
                 b.site_id,
                 b.trust_domain,
                 b.role,
                 config_.gateway_url,
                 b.certificate_chain,
                 b.command_signing_keys,
                 checked.not_after,
                 b.serving_ca_pins,
                 b.join_signing_pins,
                 config_.serving_ca_spki_pin,
                 config_.join_signing_key_pin};
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
    finish(join_exit::refused,
           "a person must approve this machine first: request " +
               printable(checked.body.request_id) + ", CSR " + short_hash());
  }

  void failed(const wire::join_answer& answer,
              std::optional<time_point> server_time) {
    switch (answer.code) {
      case errc::access_denied:
        return refused(*server_time);
      case errc::conflict:
        return retry_or(conflicts_, join_exit::conflict,
                        "another join of this machine was faster: " +
                            printable(answer.message));
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
                            "): " + printable(answer.message));
    }
  }

  // A clock that is off makes a good seal look old: seal again once, by the
  // time the server signed (CASES 111).
  void refused(time_point server_time) {
    auto off = server_time - now();
    bool clock_is_off = off > tolerated_offset || off < -tolerated_offset;
    if (clock_is_off && !corrected_) {
      corrected_ = true;
      offset_ = off;
      return;
    }
    // Perhaps another token was given this time, and the answer to the one
    // that admitted this CSR can still be had.
    outcome_unknown_ = request_.from_earlier_run && store_.pending_is_recent();
    finish(join_exit::refused,
           std::string{wire::refused_message} + "\nCSR " + short_hash());
  }

  void retry_or(int& count, join_exit code, const std::string& why) {
    if (count >= options_.retries)
      return finish(code, why);
    wait(first_wait * (1 << count));
    ++count;
  }

  void wait(milliseconds time) {
    auto some = with_jitter(time);
    if (options_.wait)
      options_.wait(some);
    else
      std::this_thread::sleep_for(some);
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
  const pki::public_key& recipient_;
  const pki::hardware_claims& hardware_;
  const secret_bytes& token_;
  const pending_request& request_;
  const expected_answer expected_;
  bool outcome_unknown_;
  bool sent_ = false;
  int losses_ = 0;
  int conflicts_ = 0;
  milliseconds offset_{0};
  bool corrected_ = false;
  std::optional<join_outcome> done_;
};

// Where the old files are, and how to go on after a failure: another reset
// would also set aside the request whose answer can still be had.
join_outcome with_old_files(join_outcome outcome, const config& c,
                            const std::string& suffix) {
  if (suffix.empty())
    return outcome;
  outcome.message +=
      "\nthe old files are in " + c.data_dir.string() + ", named *" + suffix;
  if (outcome.exit_code != join_exit::joined)
    outcome.message +=
        "; run bcd join again without --reset, then systemctl restart bcd";
  return outcome;
}

// The key to seal to, or how the command ends without one.
struct recipient {
  std::optional<pki::public_key> key;
  join_outcome otherwise;
};

recipient no_key(join_exit code, std::string message) {
  return {std::nullopt, ended(code, std::move(message))};
}

recipient with_pin(const pki::public_key& key, const config& c,
                   const std::string& from) {
  if (key.pin() == c.join_encryption_key_pin)
    return {key, {}};
  return no_key(join_exit::untrusted,
                "the key " + from +
                    " does not have the pin join_encryption_key_pin; nothing "
                    "was sent");
}

recipient fetched_recipient(const config& c, const join_options& options) {
  auto key = options.fetch_key();
  if (key)
    return with_pin(key.value(), c, "of the control plane's document");
  const auto& why = key.error();
  auto code = why.code == errc::access_denied    ? join_exit::untrusted
              : why.code == errc::invalid_config ? join_exit::server_config
                                                 : join_exit::unreachable;
  return no_key(code, "cannot fetch the key to seal the token to: " +
                          why.message + "; nothing was sent");
}

// A file that is there and wrong fails also where one could be fetched: it
// tells that the machine was not set up for the keys of today.
recipient read_recipient(const config& c, const join_options& options) {
  auto file = c.join_encryption_jwk.string();
  std::error_code ec;
  bool is_there =
      std::filesystem::symlink_status(c.join_encryption_jwk, ec).type() !=
      std::filesystem::file_type::not_found;
  if (!is_there && options.fetch_key)
    return fetched_recipient(c, options);
  std::ifstream in{c.join_encryption_jwk, std::ios::binary};
  std::string text(max_jwk + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.empty() || text.size() > max_jwk)
    return no_key(join_exit::usage,
                  "cannot read the key file " + file +
                      (is_there ? ""
                                : "; --server URL fetches the key from the "
                                  "control plane"));
  auto key = pki::from_jwk(text);
  if (!key)
    return no_key(
        join_exit::usage,
        file + " is not a P-256 public key (JWK): " + key.error().message);
  return with_pin(key.value(), c, "in " + file);
}

// What a machine that joined answers while its `bcd node` has the folder
// (spec: joining#troubleshooting).
std::optional<join_outcome> joined_beside(const config& c) {
  auto found = look_at_identity(c.data_dir);
  if (!found || !found.value().pair)
    return std::nullopt;
  return joined_as(found.value().pair->who, true);
}

}  // namespace

join_outcome run_join(const config& c, hardware_source& hardware,
                      const token_source& token, const join_options& options) {
  if (auto checked = check(c); !checked)
    return ended(join_exit::usage, checked.error().message);
  auto store = identity_store::open(c.data_dir);
  if (!store && store.error().code == errc::conflict && !options.reset)
    if (auto known = joined_beside(c))
      return *known;
  if (!store)
    return ended(join_exit::local, store.error().message);
  if (!options.reset) {
    auto known = store.value().load();
    if (!known)
      return ended(join_exit::local, known.error().message);
    if (known.value()) {
      store.value().forget_pending_of(*known.value());
      return joined_as(*known.value(), true);
    }
  }
  auto secret = token();
  if (!secret)
    return ended(join_exit::usage, secret.error().message);
  auto to = read_recipient(c, options);
  if (!to.key)
    return to.otherwise;
  auto claims = hardware.read();
  if (!claims)
    return ended(join_exit::local, claims.error().message);
  std::string suffix;
  if (options.reset) {
    auto moved = store.value().set_aside(machine_time(options));
    if (!moved)
      return ended(join_exit::local,
                   moved.error().message + "; nothing was sent");
    suffix = moved.value();
  }
  auto request = store.value().pending();
  if (!request)
    return with_old_files(ended(join_exit::local, request.error().message), c,
                          suffix);
  attempt one{c,
              options,
              store.value(),
              *to.key,
              claims.value(),
              secret.value(),
              request.value()};
  return with_old_files(one.run(), c, suffix);
}

join_outcome run_join(const config& c, hardware_source& hardware,
                      secret_bytes token, const join_options& options) {
  return run_join(
      c, hardware,
      [&token]() -> result<secret_bytes> { return std::move(token); }, options);
}

}  // namespace bc::daemon
