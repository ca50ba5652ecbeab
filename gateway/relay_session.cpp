#include "gateway/relay_session.hpp"

#include "base/ids.hpp"
#include "gateway/routes.hpp"
#include "pki/digest.hpp"
#include "pki/internal.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

// Of one gateway: another one's machines must get some of what this process can
// make.
constexpr double challenges_per_second = 100;
constexpr double challenges_at_once = 1'000;
// What is told later than that is none that a gateway may rely on.
constexpr seconds oldest_notice{2};

// It goes into the journal, and a gateway may send what it likes.
bool is_request_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

relay_session::relay_session(std::shared_ptr<relay_sessions> all,
                             asio::any_io_executor strand, std::string address,
                             std::string peer)
    : all_(std::move(all)),
      strand_(std::move(strand)),
      address_(std::move(address)),
      peer_(std::move(peer)),
      challenges_(challenges_per_second, challenges_at_once) {}

// Runs `f` on the session's strand, if there is still a session; any thread.
template <class F>
void relay_session::tell(const std::weak_ptr<relay_session>& to, F f) {
  auto self = to.lock();
  if (!self)
    return;
  // The io_context must outlive this call when `self` is the last owner; what
  // is posted must not own it.
  auto all = self->all_;
  asio::post(self->strand_, [to, f = std::move(f)]() mutable {
    if (auto target = to.lock())
      f(*target);
  });
  self.reset();
}

relay_session::~relay_session() {
  std::lock_guard lock{all_->mutex};
  all_->sessions.erase(this);
  all_->peers.leave(peer_);
  all_->changed.notify_all();
}

void relay_session::start(tcp::socket socket,
                          std::shared_ptr<asio::ssl::context> tls) {
  asio::post(strand_, [self = shared_from_this(), socket = std::move(socket),
                       tls = std::move(tls)]() mutable {
    // One that stop() did not see yet is dropped.
    if (self->all_->is_stopping())
      return;
    const auto& o = self->all_->options;
    self->link_ = accept_relay_link(std::move(socket), std::move(tls),
                                    {relay::max_request, o.max_queued_bytes,
                                     o.handshake_timeout, o.idle_timeout},
                                    self);
  });
}

void relay_session::stop(bool gently) {
  asio::post(strand_, [self = shared_from_this(), gently] {
    if (!self->link_)
      return;
    if (gently && self->open_)
      (void)self->link_->send(relay::encode(relay::draining{}));
    else
      self->link_->close("the server is stopping");
  });
}

bool relay_session::on_open(const std::string& certificate) {
  open_ = pki::internal_role_of(as_bytes(certificate), all_->internal_cas) ==
          pki::internal_role::gateway;
  if (!open_)
    spdlog::warn("relay: {} has no gateway's certificate", address_);
  else
    spdlog::info("relay: a gateway connected from {}", address_);
  return open_;
}

void relay_session::on_message(relay::message m) {
  if (auto* asked = std::get_if<relay::request>(&m))
    take(std::move(*asked));
  else if (auto* live = std::get_if<relay::ping>(&m))
    take(*live);
  else if (auto* wanted = std::get_if<relay::watch>(&m))
    watch(std::move(wanted->gateway));
  else
    link_->close("a gateway must not send this");
}

void relay_session::on_closed(const std::string& why) {
  if (open_)
    spdlog::info("relay: the gateway at {} is gone: {}", address_, why);
  else
    spdlog::debug("relay: {} did not become a gateway: {}", address_, why);
  link_ = nullptr;
  watch_ = nullptr;
  say_watched(false);
}

// A gateway pings its watch more often than that may be old.
void relay_session::take(const relay::ping& live) {
  if (!gateway_.empty() && !hears_journal())
    return link_->close("the journal's news do not come");
  send(relay::encode(relay::pong{live.number}));
}

bool relay_session::hears_journal() const {
  return all_->notices->age() <= oldest_notice;
}

void relay_session::watch(std::string gateway) {
  // It goes into what all processes keep.
  if (!bc::gateway_id::parse(gateway))
    return link_->close("a gateway must name itself");
  // Without an answer it asks another process.
  if (all_->notices == nullptr || !hears_journal())
    return;
  say_watched(false);
  gateway_ = std::move(gateway);
  // Weak: the watch is this session's.
  watch_ = all_->notices->watch(
      [to = weak_from_this()](const actors::gateway_notice& n) {
        tell(to, [n](relay_session& target) { target.pass_on(n); });
      });
  say_watched(true);
  send(relay::encode(relay::watching{}));
}

void relay_session::say_watched(bool here) {
  if (!gateway_.empty() && all_->options.gateways)
    all_->options.gateways(gateway_, here);
  if (!here)
    gateway_.clear();
}

void relay_session::pass_on(const actors::gateway_notice& n) {
  relay::notice out{static_cast<std::uint8_t>(n.what), n.superseded, n.node_id,
                    n.keep};
  if (!relay::fits(out))
    return spdlog::error("relay: a notice of {} bytes was not sent",
                         n.node_id.size() + n.keep.size());
  // A gateway that does not take it is cut off, and so knows that it missed
  // something.
  send(relay::encode(out));
}

void relay_session::take(relay::request asked) {
  const auto what = actors::daemon_request_of(asked.kind);
  if (!what)
    return refuse(asked, "this server does not know such requests");
  if (in_flight_ >= all_->options.max_in_flight)
    return refuse(asked, "the server is overloaded; retry");
  if (*what == actors::daemon_request::join_challenge &&
      !challenges_.take(token_bucket::steady::now()))
    return refuse(asked, "this gateway's machines ask too often; retry",
                  errc::rate_limited);
  ++in_flight_;
  if (!is_request_id(asked.correlation))
    asked.correlation = pki::mint<request_id>(system_clock{}.now()).str();
  // Weak: an answer that never comes must not keep the connection.
  all_->daemons->call(
      {std::move(asked.body), std::move(asked.correlation),
       std::move(asked.client_certificate), *what},
      [to = weak_from_this(), id = asked.id](actors::daemon_reply reply) {
        tell(to, [id, reply = std::move(reply)](relay_session& target) mutable {
          target.answer(id, std::move(reply));
        });
      });
}

void relay_session::answer(std::uint64_t id, actors::daemon_reply reply) {
  --in_flight_;
  relay::answer out{id, static_cast<std::uint16_t>(reply.status),
                    std::move(reply.body)};
  if (!relay::fits(out)) {
    spdlog::error("relay: an answer of {} bytes with status {} was not sent",
                  out.body.size(), reply.status);
    out = {id, 500,
           error_body(wire_text(errc::internal),
                      "the answer could not be relayed", "")};
  }
  send(relay::encode(out));
}

void relay_session::refuse(const relay::request& asked, std::string_view why,
                           errc code) {
  send(relay::encode(
      relay::answer{asked.id, static_cast<std::uint16_t>(http_status(code)),
                    error_body(wire_text(code), why, asked.correlation)}));
}

void relay_session::send(std::string frame) {
  if (link_ && !link_->send(std::move(frame)))
    link_->close("the gateway does not take its answers");
}

}  // namespace bc::gateway
