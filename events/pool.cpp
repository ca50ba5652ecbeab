#include "events/directory.hpp"

namespace bc::events::pool {

namespace {

void apply(state& s, const created& c) {
  if (!s.pool)
    s.pool = c;
}

void apply(state& s, const updated& u) {
  if (!s.pool || s.archived_at)
    return;
  s.pool->name = u.name;
  s.pool->pool_agent = u.pool_agent;
  s.pool->rules = u.rules;
}

void apply(state& s, const archived& a) {
  if (s.pool && !s.archived_at)
    s.archived_at = a.at;
}

fault no_such_pool() {
  return fail(errc::not_found, "No such pool");
}

}  // namespace

std::string_view agent_text(agent a) noexcept {
  switch (a) {
    case agent::bcd:
      return "bcd";
    case agent::none:
      return "none";
  }
  return {};
}

std::optional<agent> parse_agent(std::string_view text) noexcept {
  for (auto a : {agent::bcd, agent::none})
    if (agent_text(a) == text)
      return a;
  return std::nullopt;
}

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

result<std::vector<event>> decide(const state& s, const update& c) {
  if (!s.pool)
    return no_such_pool();
  if (s.archived_at)
    return fail(errc::invalid_state, "The pool is archived");
  const auto& old = *s.pool;
  updated u{old.id,
            c.name.value_or(old.name),
            c.pool_agent.value_or(old.pool_agent),
            c.rules.value_or(old.rules),
            c.now,
            old.tenant,
            old.name};
  if (u.name == old.name && u.pool_agent == old.pool_agent &&
      u.rules == old.rules)
    return std::vector<event>{};
  return std::vector<event>{std::move(u)};
}

result<std::vector<event>> decide(const state& s, const archive& c) {
  if (!s.pool)
    return no_such_pool();
  if (s.archived_at)
    return std::vector<event>{};
  return std::vector<event>{
      archived{s.pool->id, c.now, s.pool->tenant, s.pool->name}};
}

}  // namespace bc::events::pool
