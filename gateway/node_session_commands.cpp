#include "gateway/command_dispatch.hpp"
#include "gateway/node_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

/// A session's commands: fetched, sent to the daemon, and their results.
namespace bc::gateway {

void node_session::fetch() {
  if (std::exchange(fetching_, true)) {
    fetch_again_ = true;
    return;
  }
  fetch_again_ = false;
  ask(session_calls::rank::traffic, actors::daemon_request::fetch_commands,
      wire::encode(wire::fetch_commands{peer_.session_id, peer_.node_id}),
      [](node_session& self, const actors::daemon_reply& reply) {
        self.fetching_ = false;
        if (self.phase_ != phase::running)
          return;
        if (auto all = wire::decode_fetched_commands(reply.body);
            is_good(reply.status) && all)
          self.send_commands(all.value());
        else if (reply.status >= 500)
          self.fetch_later();
        if (self.fetch_again_)
          self.fetch();
      });
}

// Or what waits would wait for the next command, or the next session.
void node_session::fetch_later() {
  fetch_at_ = steady::now() + limits_.fetch_again;
  arm();
}

void node_session::send_commands(const wire::fetched_commands& all) {
  auto socket = socket_.lock();
  if (!socket)
    return;
  const auto now = steady::now();
  // Those not sent yet follow when one of these has its result.
  more_commands_ = all.more;
  std::map<std::string, steady::time_point> under_way;
  std::vector<std::pair<std::string, const wire::command*>> due;
  for (const auto& one : all.commands) {
    auto body = wire::decode_command_body(one.body);
    if (!body ||
        !may_dispatch(body.value(), peer_.node_id, all.allowed_kinds)) {
      spdlog::error("session {}: a command is none for {}", peer_.session_id,
                    peer_.node_id);
      continue;
    }
    const auto& id = body.value().command_id;
    const auto before = sent_.find(id);
    if (before != sent_.end() && now - before->second < limits_.send_again)
      under_way.insert(*before);
    else
      due.emplace_back(id, &one);
  }
  for (const auto& [id, one] : due) {
    if (under_way.size() >= limits_.commands_at_once) {
      more_commands_ = true;
      break;
    }
    // Twice in one answer is once.
    if (under_way.try_emplace(id, now).second)
      socket->send(wire::encode(wire::to_daemon{*one}));
  }
  sent_ = std::move(under_way);
  look_again();
}

// A daemon drops what it has no room for: it is sent again after a while.
void node_session::look_again() {
  if (sent_.empty())
    return;
  const auto due = steady::now() + limits_.send_again;
  fetch_at_ = std::min(fetch_at_.value_or(due), due);
  arm();
}

void node_session::on_recorded(const std::string& command_id, int status) {
  --results_;
  // What is no command of this node (any more) is not to come again either.
  constexpr int no_such_command = 404;
  if (phase_ != phase::running ||
      (!is_good(status) && status != no_such_command))
    return;
  sent_.erase(command_id);
  if (auto socket = socket_.lock())
    socket->send(wire::encode(wire::to_daemon{wire::recorded{command_id}}));
  if (std::exchange(more_commands_, false))
    fetch();
}

void node_session::take(wire::command_result m) {
  // It is sent until it is recorded: one too many now comes again.
  if (results_ >= limits_.results_in_flight)
    return;
  ++results_;
  auto id = m.command_id;
  ask(session_calls::rank::traffic, actors::daemon_request::command_result,
      wire::encode(
          wire::relayed_result{peer_.session_id, peer_.node_id, std::move(m)}),
      [id](node_session& self, const actors::daemon_reply& reply) {
        self.on_recorded(id, reply.status);
      });
}

}  // namespace bc::gateway
