#include "projections/request_query.hpp"

#include "events/join_request.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace bc::projections {

namespace {

using events::join_request::status;

constexpr auto ever = std::numeric_limits<std::int64_t>::max();
constexpr auto never = std::numeric_limits<std::int64_t>::min();

void add_walks(std::vector<request_walk>& to, const std::string& scope,
               const request_filter& f) {
  const auto now = to_millis(f.now);
  auto text = [](status s) { return std::string{status_text(s)}; };
  if (f.state.empty()) {
    to.push_back({scope, "", never, ever});
  } else if (f.state == text(status::pending) ||
             f.state == text(status::approved)) {
    to.push_back({scope, f.state, now, ever});
  } else if (f.state == text(status::expired)) {
    to.push_back({scope, text(status::pending), never, now});
    to.push_back({scope, text(status::approved), never, now});
    to.push_back({scope, f.state, never, ever});
  } else if (events::join_request::parse_status(f.state)) {
    to.push_back({scope, f.state, never, ever});
  }
}

}  // namespace

std::vector<request_walk> walks_of(const request_filter& which) {
  std::vector<request_walk> out;
  if (!which.site.empty())
    add_walks(out, which.site, which);
  add_walks(out, which.pool, which);
  return out;
}

page<join_request_row> merged(std::vector<page<join_request_row>> walks,
                              int limit) {
  page<join_request_row> out;
  bool more = false;
  // The later ones first, so that of two with one id theirs stays.
  for (auto it = walks.rbegin(); it != walks.rend(); ++it) {
    more = more || it->next;
    std::move(it->items.begin(), it->items.end(),
              std::back_inserter(out.items));
  }
  std::ranges::stable_sort(out.items, {}, &join_request_row::id);
  auto same = std::ranges::unique(out.items, {}, &join_request_row::id);
  out.items.erase(same.begin(), same.end());
  const auto most = static_cast<std::size_t>(limit);
  if (out.items.size() > most) {
    out.items.resize(most);
    more = true;
  }
  if (more && !out.items.empty())
    out.next = out.items.back().id;
  return out;
}

}  // namespace bc::projections
