#include "actors/boot_lease/lease_flow.hpp"

#include "actors/batches.hpp"
#include "actors/joining/answers.hpp"
#include "actors/steps.hpp"
#include "base/wire_boot_lease.hpp"
#include "events/node_sessions.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace bc::actors {

namespace {

namespace boot_lease = events::boot_lease;

constexpr int max_tries = 3;

/// By which of its certificates a node is an agent of that site; null: by none.
const events::node::certificate* agents_certificate(
    const events::node::state& s, byte_view der, const site_id& of,
    time_point now) {
  const auto* live = events::node::session_certificate(s, der, now);
  const bool is_agent = live != nullptr &&
                        live->role == pki::certificate_role::site &&
                        s.node->site == of;
  return is_agent ? live : nullptr;
}

/// Revoked, retired, or away for so long that every certificate is over.
bool is_gone(const events::node::state& s, const site_id& of, time_point now) {
  return std::ranges::none_of(s.certificates, [&](const auto& one) {
    return agents_certificate(s, one.cert.der, of, now) != nullptr;
  });
}

/// One agent's word on its site's lease. Each step either ends it or asks the
/// ledger, which comes back to the next one.
class lease_run : public steps<lease_run> {
 public:
  lease_run(std::shared_ptr<const boot_lease_environment> env,
            std::shared_ptr<ledger> streams, daemon_call call,
            std::function<void(daemon_outcome)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        call_(std::move(call)),
        done_(std::move(done)) {}

  void start() {
    auto request = wire::decode_boot_lease_request(call_.body);
    if (!request)
      return fail_with(request.error().code, request.error().message,
                       request.error().path);
    auto node = node_id::parse(request.value().node_id);
    auto site = site_id::parse(request.value().site_id);
    if (!node || !site || call_.client_certificate.empty())
      return refuse();
    node_id_ = std::move(node).value();
    site_id_ = std::move(site).value();
    release_ = request.value().release;
    attempt();
  }

  void on_fault(const fault&) { unavailable(); }

 private:
  void attempt() {
    site_ = nullptr;
    lease_ = nullptr;
    gone_ = nullptr;
    streams_->node(node_id_, then(&lease_run::on_node));
  }

  void on_node(shared_state<events::node::state> node) {
    node_ = std::move(node);
    held_by_ = agents_certificate(*node_, as_bytes(call_.client_certificate),
                                  site_id_, now());
    if (held_by_ == nullptr)
      return refuse_as_read();
    streams_->site(site_id_, then(&lease_run::on_site));
  }

  void on_site(shared_state<events::site::state> site) {
    site_ = std::move(site);
    if (!site_->site || site_->deleted_at)
      return refuse_as_read();
    streams_->boot_lease(site_id_, then(&lease_run::on_lease));
  }

  void on_lease(shared_state<boot_lease::state> lease) {
    lease_ = std::move(lease);
    const auto* live = live_lease(*lease_, now());
    if (release_ || live == nullptr || live->holder == node_id_)
      return settle();
    streams_->node(live->holder, then(&lease_run::on_other));
  }

  void on_other(shared_state<events::node::state> other) {
    if (is_gone(*other, site_id_, now()))
      gone_ = std::move(other);
    settle();
  }

  void settle() {
    // No lease of an agent that is over.
    const auto ttl =
        std::min<milliseconds>(env_->ttl, held_by_->not_after - now());
    const auto decided =
        release_ ? decide(*lease_, boot_lease::release{node_id_, now()})
                 : decide(*lease_, boot_lease::acquire{
                                       site_id_, node_->node->tenant, node_id_,
                                       ttl, now(), gone_ != nullptr});
    after_ = *lease_;
    auto batch = as_read();
    auto& write = batch.writes.emplace_back(
        pin(events::boot_lease_stream(site_id_), lease_->version));
    for (const auto& e : decided) {
      write.tenant = node_->node->tenant.str();
      write.events.push_back(encode(e));
      after_ = evolve(std::move(after_), e);
    }
    batch.valid_until = held_by_->not_after;
    // What lasts from the moment of the decision on ends with it.
    if (const auto* live = live_lease(after_, now()))
      batch.valid_until = std::min(*batch.valid_until, live->expires_at);
    streams_->append(std::move(batch), then(&lease_run::on_appended));
  }

  void on_appended(events::append_outcome outcome) {
    if (const auto* why = std::get_if<events::rejected>(&outcome))
      return try_again(*why);
    wire::boot_lease_body out;
    if (after_.lease)
      out.epoch = after_.lease->epoch;
    if (const auto* live = live_lease(after_, now())) {
      out.held = live->holder == node_id_;
      out.expires_ms = to_millis(live->expires_at);
      out.holder = live->holder.str();
    }
    finish({{200, wire::encode(out)}, false});
  }

  /// Another process may have issued the certificate, or taken it back, a
  /// moment ago.
  void refuse_as_read() {
    streams_->append(as_read(), then(&lease_run::on_confirmed));
  }

  void on_confirmed(events::append_outcome outcome) {
    if (const auto* why = std::get_if<events::rejected>(&outcome))
      return try_again(*why);
    refuse();
  }

  /// Preconditions: node and site are as they were read, and so is an agent
  /// whose lease is taken from it.
  [[nodiscard]] events::batch as_read() const {
    auto out = machine_batch(call_.correlation, now());
    out.writes.push_back(pin(events::stream_of(node_id_), node_->version));
    if (site_)
      out.writes.push_back(pin(events::stream_of(site_id_), site_->version));
    if (gone_)
      out.writes.push_back(
          pin(events::stream_of(lease_->lease->holder), gone_->version));
    return out;
  }

  void try_again(const events::rejected& why) {
    store_time_ = why.time;
    if (++tries_ >= max_tries)
      return unavailable();
    attempt();
  }

  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point now() const {
    return store_time_.value_or(streams_->now());
  }

  void refuse() {
    auto answer = plain_failure(errc::access_denied,
                                std::string{wire::boot_lease_refused_message});
    finish({{wire::http_status(answer), wire::encode(answer)}, true});
  }
  void unavailable() {
    fail_with(errc::unavailable,
              "The boot lease could not be decided now; retry");
  }
  void fail_with(errc code, std::string message, std::string path = {}) {
    auto answer = plain_failure(code, std::move(message), std::move(path));
    finish({{wire::http_status(answer), wire::encode(answer)}, false});
  }
  void finish(daemon_outcome out) {
    auto done = std::exchange(done_, nullptr);
    done(std::move(out));
  }

  std::shared_ptr<const boot_lease_environment> env_;
  std::shared_ptr<ledger> streams_;
  daemon_call call_;
  std::function<void(daemon_outcome)> done_;
  node_id node_id_;
  site_id site_id_;
  bool release_ = false;
  shared_state<events::node::state> node_;
  const events::node::certificate* held_by_ = nullptr;  // in node_
  shared_state<events::site::state> site_;
  shared_state<boot_lease::state> lease_;
  shared_state<events::node::state> gone_;  // who has it, and may not any more
  boot_lease::state after_;
  int tries_ = 0;
  std::optional<time_point> store_time_;
};

}  // namespace

void run_boot_lease(std::shared_ptr<const boot_lease_environment> env,
                    std::shared_ptr<ledger> streams, daemon_call call,
                    std::function<void(daemon_outcome)> done) {
  std::make_shared<lease_run>(std::move(env), std::move(streams),
                              std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
