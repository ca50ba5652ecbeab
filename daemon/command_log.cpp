#include "daemon/command_log.hpp"

#include "base/json.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

// Longer than the server's clocks are ever apart from each other.
constexpr milliseconds after_recorded = std::chrono::hours{1};
constexpr milliseconds after_finished = std::chrono::hours{7 * 24};

std::string as_line(const json::writer& out) {
  return out.str() + "\n";
}

std::string doubt_line(std::int64_t until_ms) {
  json::writer out;
  out.begin_object().field("doubtUntil", until_ms).end_object();
  return as_line(out);
}

// Lines were lost, and nobody has told the time since.
std::string lost_line() {
  json::writer out;
  out.begin_object().field("lost", true).end_object();
  return as_line(out);
}

}  // namespace

std::string command_log::begun_line(const std::string& id,
                                    std::int64_t expires_at_ms) {
  json::writer out;
  out.begin_object()
      .field("begun", id)
      .field("expiresAt", expires_at_ms)
      .end_object();
  return as_line(out);
}

std::string command_log::finished_line(const wire::command_result& result) {
  json::writer out;
  out.begin_object()
      .field("finished", result.command_id)
      .field("succeeded", result.succeeded)
      .field("output", result.output)
      .end_object();
  return as_line(out);
}

std::string command_log::recorded_line(const std::string& id) {
  json::writer out;
  out.begin_object().field("recorded", id).end_object();
  return as_line(out);
}

command_log command_log::read(std::string_view text) {
  command_log out;
  while (!text.empty()) {
    auto end = text.find('\n');
    const bool last = end == std::string_view::npos || end + 1 == text.size();
    // Without its line end it is torn, also when it reads well: another line
    // would be written behind it.
    bool whole = end != std::string_view::npos;
    auto line = text.substr(0, end);
    if (!whole || !out.take(line)) {
      out.torn_ = true;
      out.lost_ = out.lost_ || !last;
    }
    text.remove_prefix(whole ? end + 1 : text.size());
  }
  return out;
}

bool command_log::take(std::string_view line) {
  auto doc = json::parse_object(line);
  if (!doc)
    return false;
  json::reader from{doc.value()};
  if (from.has("begun")) {
    auto id = from.text("begun");
    auto expires = from.integer("expiresAt");
    if (!id || !expires)
      return false;
    begin(id.value(), expires.value());
    return true;
  }
  if (from.has("finished")) {
    auto id = from.text("finished");
    auto succeeded = from.boolean("succeeded");
    auto output = from.text("output");
    if (!id || !succeeded || !output)
      return false;
    finish({id.value(), succeeded.value(), output.value()});
    return true;
  }
  if (from.has("recorded")) {
    auto id = from.text("recorded");
    if (id)
      recorded(id.value());
    return id.has_value();
  }
  if (from.has("doubtUntil")) {
    auto until = from.integer("doubtUntil");
    if (until)
      doubtful_until_ms_ = until.value();
    return until.has_value();
  }
  if (from.has("lost"))
    lost_ = true;
  // A newer bcd may have written more.
  return true;
}

bool command_log::doubts(const wire::command_body& command) const {
  return doubtful_until_ms_ && command.issued_at_ms <= *doubtful_until_ms_;
}

std::vector<std::string> command_log::begun() const {
  std::vector<std::string> out;
  for (const auto& [id, one] : commands_)
    if (one.at == stage::begun)
      out.push_back(id);
  return out;
}

std::vector<wire::command_result> command_log::waiting() const {
  std::vector<const entry*> found;
  for (const auto& [id, one] : commands_)
    if (one.at == stage::finished)
      found.push_back(&one);
  std::ranges::sort(found, {}, &entry::order);
  std::vector<wire::command_result> out;
  for (const auto* one : found)
    out.push_back(one->result);
  return out;
}

void command_log::begin(const std::string& id, std::int64_t expires_at_ms) {
  commands_.try_emplace(id, entry{stage::begun, expires_at_ms, 0, {}});
}

void command_log::finish(const wire::command_result& result) {
  auto found = commands_.find(result.command_id);
  if (found == commands_.end() || found->second.at != stage::begun)
    return;
  found->second.at = stage::finished;
  found->second.order = next_order_++;
  found->second.result = result;
  ++waiting_;
}

void command_log::recorded(const std::string& id) {
  auto found = commands_.find(id);
  if (found == commands_.end() || found->second.at != stage::finished)
    return;
  found->second.at = stage::recorded;
  found->second.result = {};
  --waiting_;
}

void command_log::forget(time_point now) {
  for (auto at = commands_.begin(); at != commands_.end();) {
    const auto& one = at->second;
    auto over = from_millis(one.expires_at_ms);
    bool gone = (one.at == stage::recorded && now - over > after_recorded) ||
                (one.at == stage::finished && now - over > after_finished);
    if (gone && one.at == stage::finished)
      --waiting_;
    at = gone ? commands_.erase(at) : std::next(at);
  }
}

void command_log::doubt_until(time_point now) {
  lost_ = false;
  doubtful_until_ms_ = to_millis(now);
}

std::string command_log::text() const {
  std::string out;
  if (lost_)
    out += lost_line();
  if (doubtful_until_ms_)
    out += doubt_line(*doubtful_until_ms_);
  for (const auto& [id, one] : commands_) {
    out += begun_line(id, one.expires_at_ms);
    // What it said is of no use any more; that it ended is.
    if (one.at == stage::recorded)
      out += finished_line({id, false, ""}) + recorded_line(id);
  }
  for (const auto& result : waiting())
    out += finished_line(result);
  return out;
}

}  // namespace bc::daemon
