#include "events/command.hpp"

namespace bc::events::command {

namespace {

// Times are the call's, not the caller's.
bool is_retry_of(const enqueued& made, const enqueued& asked) {
  return made.node == asked.node && made.kind == asked.kind &&
         made.payload == asked.payload &&
         made.expires_at - made.at == asked.expires_at - asked.at;
}

void apply(state& s, const enqueued& e) {
  if (!s.command)
    s.command = e;
}

void apply(state& s, const completed& c) {
  if (s.command && !s.outcome)
    s.outcome = c;
}

}  // namespace

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

std::string_view status_text(status s) noexcept {
  switch (s) {
    case status::pending:
      return "pending";
    case status::succeeded:
      return "succeeded";
    case status::failed:
      return "failed";
    case status::expired:
      return "expired";
  }
  return {};
}

status status_of(std::optional<bool> succeeded, time_point expires_at,
                 time_point now) {
  if (succeeded)
    return *succeeded ? status::succeeded : status::failed;
  return now >= expires_at ? status::expired : status::pending;
}

status status_at(const state& s, time_point now) {
  return status_of(
      s.outcome ? std::optional{s.outcome->succeeded} : std::nullopt,
      s.command->expires_at, now);
}

result<std::vector<event>> decide(const state& s, const enqueue& c) {
  if (!s.command)
    return std::vector<event>{c.what};
  if (is_retry_of(*s.command, c.what))
    return std::vector<event>{};
  return fail(errc::conflict,
              "This idempotency key made a command with another node, kind, "
              "payload or ttlSeconds");
}

result<std::vector<event>> decide(const state& s, const complete& c) {
  if (!s.command || s.command->node != c.node)
    return fail(errc::not_found, "No such command of this node");
  if (s.outcome)
    return std::vector<event>{};
  return std::vector<event>{
      completed{s.command->id, c.node, c.succeeded, c.output, c.now}};
}

}  // namespace bc::events::command
