#include "actors/sessions/session_flow.hpp"

#include "actors/batches.hpp"
#include "actors/joining/answers.hpp"
#include "base/wire_session.hpp"
#include "events/node_sessions.hpp"
#include "events/streams.hpp"
#include "pki/certificate.hpp"
#include "pki/signature.hpp"
#include "pki/spiffe.hpp"

#include <utility>
#include <variant>

namespace bc::actors {

namespace {

namespace node = events::node;

using node_state = shared_state<node::state>;
using node_events = std::vector<node::event>;

constexpr int most_tries = 3;

daemon_reply failure(errc code, std::string message, std::string path = {}) {
  auto answer = plain_failure(code, std::move(message), std::move(path));
  return {wire::http_status(answer), wire::encode(answer)};
}

daemon_reply refused() {
  return failure(errc::access_denied, "Session refused");
}

daemon_reply superseded() {
  return failure(errc::conflict, "Another session of the node took over");
}

daemon_reply done_reply() {
  return {200, "{}"};
}

/// The node that a certificate of ours names.
std::optional<node_id> node_of(byte_view certificate) {
  auto leaf = pki::parse_certificate(certificate);
  if (!leaf || leaf.value().uris.empty())
    return std::nullopt;
  auto name = pki::parse_spiffe_id(leaf.value().uris.front());
  if (!name)
    return std::nullopt;
  auto id = node_id::parse(name.value().node);
  return id ? std::optional{id.value()} : std::nullopt;
}

wire::server_time signed_time(const pki::key_bundle& keys, time_point now,
                              byte_view nonce) {
  wire::server_time out;
  out.time_ms = to_millis(now);
  auto text = std::to_string(out.time_ms);
  auto signature = pki::sign(keys.join_signing.key, pki::purpose::server_time,
                             {as_bytes(text), nonce});
  out.signature = {signature.begin(), signature.end()};
  return out;
}

/// What is to be done about a node as it is: events to append, and what is
/// answered when they, or the version alone, are in the journal.
struct verdict {
  node_events events = {};
  daemon_reply reply;
  std::optional<time_point> valid_until = std::nullopt;
};

class session_run : public std::enable_shared_from_this<session_run> {
 public:
  session_run(std::shared_ptr<const session_environment> env,
              std::shared_ptr<ledger> streams, daemon_call call,
              std::function<void(daemon_reply)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        call_(std::move(call)),
        certificate_(to_bytes(as_bytes(call_.client_certificate))),
        done_(std::move(done)) {}

  void start() {
    if (!env_->keys)
      return finish(
          failure(errc::invalid_config, "This server has no join keys"));
    auto read = read_body();
    if (!read)
      return finish(
          failure(read.error().code, read.error().message, read.error().path));
    if (!read.value())
      return finish(refused());
    id_ = std::move(*read.value());
    attempt();
  }

 private:
  /// The node it is about; none: the certificate names no such node.
  result<std::optional<node_id>> read_body() {
    switch (call_.what) {
      case daemon_request::hello: {
        BC_TRY(read, wire::decode_session_hello(call_.body));
        hello_ = std::move(read);
        return node_of(certificate_);
      }
      case daemon_request::check_session: {
        BC_TRY(read, wire::decode_session_check(call_.body));
        check_ = std::move(read);
        return named(check_.node_id, node_of(certificate_));
      }
      default:
        break;
    }
    BC_TRY(read, wire::decode_session_end(call_.body));
    auto reason = node::parse_session_end(read.reason);
    if (!reason)
      return fail(errc::invalid_input, "is not a known value", "/reason");
    end_ = {{}, read.session_id, *reason};
    auto id = node_id::parse(read.node_id);
    if (!id)
      return fail(errc::invalid_input, "is no node", "/nodeId");
    return std::optional{id.value()};
  }

  static std::optional<node_id> named(const std::string& claimed,
                                      std::optional<node_id> id) {
    return id && id->str() == claimed ? std::move(id) : std::nullopt;
  }

  void attempt() {
    streams_->node(id_, then<node_state>([this](node_state s) {
                     state_ = std::move(s);
                     carry_out(judge(*state_, streams_->now()));
                   }));
  }

  [[nodiscard]] verdict judge(const node::state& s, time_point now) {
    if (call_.what == daemon_request::hello)
      return judge_hello(s, now);
    if (call_.what == daemon_request::check_session)
      return judge_check(s, now);
    return judge_end(s, now);
  }

  [[nodiscard]] verdict judge_hello(const node::state& s, time_point now) {
    const auto* held = node::session_certificate(s, certificate_, now);
    if (held == nullptr)
      return {{}, refused()};
    auto decided = decide(
        s, node::connect{now, hello_.session_id, hello_.gateway_id,
                         hello_.address, hello_.message.version, held->serial});
    if (!decided)
      return {{}, refused()};
    return {std::move(decided).value(), welcome(now), held->not_after};
  }

  [[nodiscard]] verdict judge_check(const node::state& s, time_point now) {
    const auto* held = node::session_certificate(s, certificate_, now);
    if (held == nullptr)
      return {{}, refused()};
    const auto& id = check_.session_id;
    if (const auto* live = node::live_session(s))
      return {{}, live->session == id ? done_reply() : superseded()};
    // It was given up, as of a gateway that was not heard of for a while, and
    // is alive.
    if (!s.session || s.session->session != id)
      return {{}, superseded()};
    auto decided =
        decide(s, node::connect{now, id, s.session->gateway, s.session->address,
                                s.session->version, s.session->serial});
    if (!decided)
      return {{}, refused()};
    return {std::move(decided).value(), done_reply(), held->not_after};
  }

  [[nodiscard]] verdict judge_end(const node::state& s, time_point now) {
    end_.now = now;
    auto decided = decide(s, end_);
    return {decided ? std::move(decided).value() : node_events{}, done_reply()};
  }

  [[nodiscard]] daemon_reply welcome(time_point now) const {
    wire::welcome out;
    out.session_id = hello_.session_id;
    out.heartbeat_seconds = static_cast<int>(env_->heartbeat.count());
    out.signing_key = env_->keys->join_signing.key.pub().spki();
    out.time = signed_time(*env_->keys, now, hello_.message.nonce);
    return {200, wire::encode(wire::to_daemon{std::move(out)})};
  }

  void carry_out(verdict v) {
    auto b = machine_batch(call_.correlation, streams_->now());
    b.valid_until = v.valid_until;
    auto& write = b.writes.emplace_back();
    write.stream = events::stream_of(id_);
    write.expected_version = state_->version;
    if (!v.events.empty())
      write.tenant = state_->node->tenant.str();
    write.events = encoded(v.events);
    streams_->append(
        std::move(b),
        then<events::append_outcome>(
            [this, reply = std::move(v.reply)](const auto& outcome) {
              if (std::holds_alternative<events::appended>(outcome))
                return finish(reply);
              if (--tries_left_ > 0)
                return attempt();
              finish(failure(errc::unavailable, "The node keeps moving"));
            }));
  }

  template <class T, class Step>
  reply_to<T> then(Step step) {
    return [self = shared_from_this(), step = std::move(step)](result<T> got) {
      if (got)
        return step(std::move(got).value());
      self->finish(failure(errc::unavailable, got.error().message));
    };
  }

  void finish(daemon_reply reply) {
    auto done = std::exchange(done_, nullptr);
    done(std::move(reply));
  }

  std::shared_ptr<const session_environment> env_;
  std::shared_ptr<ledger> streams_;
  daemon_call call_;
  bytes certificate_;
  std::function<void(daemon_reply)> done_;
  wire::session_hello hello_;
  wire::session_check check_;
  node::disconnect end_;
  node_id id_;
  node_state state_;
  int tries_left_ = most_tries;
};

}  // namespace

void run_session_call(std::shared_ptr<const session_environment> env,
                      std::shared_ptr<ledger> streams, daemon_call call,
                      std::function<void(daemon_reply)> done) {
  std::make_shared<session_run>(std::move(env), std::move(streams),
                                std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
