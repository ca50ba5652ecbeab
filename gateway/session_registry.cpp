#include "gateway/session_registry.hpp"

#include "base/encoding.hpp"
#include "base/ids.hpp"
#include "pki/certificate.hpp"
#include "pki/digest.hpp"
#include "pki/spiffe.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace bc::gateway {

namespace {

constexpr std::string_view session_path = "/v1/session";

struct certified {
  std::string node;
  time_point not_after;
};

// TLS verified that the node CA signed it; whether it is the node's still is
// for the join service to say.
result<certified> read_certificate(std::string_view der) {
  auto no = [] {
    return fail(errc::unauthenticated, "a node's certificate is needed here");
  };
  auto leaf = pki::parse_certificate(as_bytes(der));
  if (!leaf || leaf.value().uris.empty())
    return no();
  auto id = pki::parse_spiffe_id(leaf.value().uris.front());
  if (!id)
    return no();
  return certified{id.value().node, leaf.value().not_after};
}

std::string place_of(const std::string& node, std::string_view address) {
  return node + "@" + peer_key(address);
}

std::string key_of(std::string_view der) {
  return to_hex(pki::sha256(as_bytes(der)));
}

}  // namespace

session_registry::session_registry(actors::daemon_port& port,
                                   session_options options)
    : options_(options),
      gateway_id_(pki::mint<bc::gateway_id>(system_clock{}.now()).str()),
      calls_(std::make_shared<session_calls>(port)),
      upgrades_(options.upgrades) {}

std::shared_ptr<session_registry> session_registry::make(
    actors::daemon_port& port, session_options options) {
  return std::shared_ptr<session_registry>{new session_registry{port, options}};
}

std::shared_ptr<const web_socket_options> session_registry::web_socket() {
  auto out = std::make_shared<web_socket_options>();
  out->path = session_path;
  out->protocol = wire::session_protocol;
  out->door = shared_from_this();
  out->max_message = wire::max_session_frame;
  out->max_open = options_.max_open;
  out->max_open_per_peer = options_.max_open_per_peer;
  out->bad_frame_code =
      static_cast<std::uint16_t>(wire::session_close::bad_frame);
  out->going_away_code =
      static_cast<std::uint16_t>(wire::session_close::going_away);
  return out;
}

result<std::shared_ptr<web_socket_user>> session_registry::admit(
    const web_socket_request& request) {
  BC_TRY(who, read_certificate(request.client_certificate));
  const auto key = key_of(request.client_certificate);
  {
    std::lock_guard lock{mutex_};
    if (stopping_ || !watched_)
      return fail(errc::unavailable, "no session can begin now; retry");
    if (upgrades_.take(key, peer_limiter::steady::now()))
      return fail(errc::rate_limited, "this node comes too often");
    if (!by_certificate_.enter(key, options_.max_per_certificate))
      return fail(errc::rate_limited, "this node has too many sessions");
    if (!by_node_and_peer_.enter(place_of(who.node, request.peer_address),
                                 options_.max_per_node_and_peer)) {
      by_certificate_.leave(key);
      return fail(errc::rate_limited, "this node has too many sessions");
    }
  }
  session_peer peer{pki::mint<session_id>(system_clock{}.now()).str(),
                    std::move(who.node), request.peer_address,
                    request.client_certificate, who.not_after};
  return std::shared_ptr<web_socket_user>{std::make_shared<node_session>(
      std::move(peer), gateway_id_, options_.limits, calls_, weak_from_this())};
}

void session_registry::opened(std::shared_ptr<node_session> one) {
  bool too_late = false;
  {
    std::lock_guard lock{mutex_};
    too_late = stopping_ || !watched_;
    by_node_[one->peer().node_id].push_back(one);
  }
  if (too_late)
    one->end(wire::session_close::going_away, "stopping", "come back");
}

void session_registry::closed(const node_session& one) {
  const auto key = key_of(one.peer().certificate);
  std::lock_guard lock{mutex_};
  by_certificate_.leave(key);
  by_node_and_peer_.leave(place_of(one.peer().node_id, one.peer().address));
  auto found = by_node_.find(one.peer().node_id);
  if (found == by_node_.end())
    return;
  std::erase_if(found->second,
                [&one](const auto& o) { return o.get() == &one; });
  if (found->second.empty())
    by_node_.erase(found);
}

// Told by a process that may tail the journal late: a notice of what was before
// a session began must not end it. So the join service says of each session
// whether it holds; one that nobody vouches for in time is ended.
void session_registry::hear(const actors::gateway_notice& notice) {
  for (const auto& one : of(notice.node_id)) {
    if (notice.what == actors::gateway_notice::kind::commands)
      one->commands_wait();
    else if (one->peer().session_id != notice.keep)
      one->doubt(options_.limits.doubt, !notice.superseded);
  }
}

void session_registry::watched(bool now) {
  {
    std::lock_guard lock{mutex_};
    watched_ = now;
  }
  if (!now)
    return end_all("lost", "this gateway hears of no changes; come back");
  calls_->retry_ends();
  for (const auto& one : all()) {
    one->doubt(options_.limits.recheck, false);
    one->commands_wait();
  }
}

void session_registry::stop() {
  {
    std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  end_all("stopping", "the gateway is stopping; come back");
}

void session_registry::end_all(const char* reason, const char* why) {
  auto open = all();
  if (!open.empty())
    spdlog::info("ending {} sessions: {}", open.size(), why);
  for (const auto& one : open)
    one->end(wire::session_close::going_away, reason, why);
}

bool session_registry::is_watched() const {
  std::lock_guard lock{mutex_};
  return watched_;
}

std::size_t session_registry::size() const {
  std::lock_guard lock{mutex_};
  std::size_t out = 0;
  for (const auto& [node, open] : by_node_)
    out += open.size();
  return out;
}

session_registry::sessions session_registry::of(const std::string& node) const {
  std::lock_guard lock{mutex_};
  auto found = by_node_.find(node);
  return found == by_node_.end() ? sessions{} : found->second;
}

session_registry::sessions session_registry::all() const {
  std::lock_guard lock{mutex_};
  sessions out;
  for (const auto& [node, open] : by_node_)
    out.insert(out.end(), open.begin(), open.end());
  return out;
}

}  // namespace bc::gateway
