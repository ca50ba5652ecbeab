#include "events/directory.hpp"

namespace bc::events::site {

namespace {

void apply(state& s, const created& c) {
  if (!s.site)
    s.site = c;
}

void apply(state& s, const updated& u) {
  if (!s.site || s.deleted_at)
    return;
  s.site->name = u.name;
  s.site->dedicated_to = u.dedicated_to;
}

void apply(state& s, const deleted& d) {
  if (s.site && !s.deleted_at)
    s.deleted_at = d.at;
}

fault no_such_site() {
  return fail(errc::not_found, "No such site");
}

}  // namespace

std::string_view kind_text(kind k) noexcept {
  switch (k) {
    case kind::shared:
      return "shared";
    case kind::dedicated:
      return "dedicated";
    case kind::custom:
      return "custom";
  }
  return {};
}

std::optional<kind> parse_kind(std::string_view text) noexcept {
  for (auto k : {kind::shared, kind::dedicated, kind::custom})
    if (kind_text(k) == text)
      return k;
  return std::nullopt;
}

bool is_platform(const created& s) noexcept {
  return s.site_kind == kind::shared || s.site_kind == kind::dedicated;
}

bool is_visible_to(const created& s, const tenant_id& who) {
  return s.owner == who || s.site_kind == kind::shared ||
         (s.site_kind == kind::dedicated && s.dedicated_to == who);
}

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

result<std::vector<event>> decide(const state& s, const update& c) {
  if (!s.site)
    return no_such_site();
  if (s.deleted_at)
    return fail(errc::invalid_state, "The site is deleted");
  const auto& old = *s.site;
  if (c.dedicated_to && old.site_kind != kind::dedicated)
    return fail(errc::invalid_input, "is for dedicated sites alone",
                "/dedicatedTo");
  updated u{old.id,           c.name.value_or(old.name),
            old.dedicated_to, c.now,
            old.owner,        old.name};
  if (c.dedicated_to)
    u.dedicated_to =
        *c.dedicated_to == old.owner ? std::nullopt : c.dedicated_to;
  if (u.name == old.name && u.dedicated_to == old.dedicated_to)
    return std::vector<event>{};
  return std::vector<event>{std::move(u)};
}

result<std::vector<event>> decide(const state& s, const remove& c) {
  if (!s.site)
    return no_such_site();
  if (s.deleted_at)
    return std::vector<event>{};
  return std::vector<event>{
      deleted{s.site->id, c.now, s.site->owner, s.site->name}};
}

}  // namespace bc::events::site
