#include "ops/cli/server.hpp"

#include "gateway/http_client.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/profile_file.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace bc::cli {

namespace {

constexpr int http_ok = 200;
constexpr std::int64_t page_size = 200;
constexpr const char* position_header = "x-min-position";

using headers = std::map<std::string, std::string>;

// Answered from tables that follow the journal, so one can wait for them;
// events are read from the journal itself.
bool is_read(std::string_view group, std::string_view method) {
  return group != "events" && (method == "list" || method == "get");
}

std::uint64_t known_position(const context& ctx) {
  return ctx.used ? ctx.used->settings.position : 0;
}

result<void> note_position(
    const context& ctx,
    const std::function<std::uint64_t(std::uint64_t before)>& change) {
  return change_profiles(profile_path(), [&](profiles& all) -> result<void> {
    if (auto at = all.find(ctx.used->name); at != all.end())
      at->second.position = change(at->second.position);
    return ok();
  });
}

// What was done is done: that it could not be noted is no failure. A position
// beyond what a profile can hold is no journal's.
void keep_position(context& ctx, const json::document& answer) {
  if (!ctx.used || !answer.HasMember("position") ||
      !answer["position"].IsUint64())
    return;
  const auto position = answer["position"].GetUint64();
  if (position > most_position)
    return;
  ctx.used->settings.position = position;
  auto kept = note_position(
      ctx, [&](std::uint64_t before) { return std::max(before, position); });
  if (!kept)
    warn("the position of this change was not kept in the profile: " +
         kept.error().message);
}

// The server was restored, or is another one at the same place.
void forget_position(context& ctx) {
  warn("the server's journal ends before position " +
       std::to_string(known_position(ctx)) +
       ", which this profile has seen; going on without it");
  ctx.used->settings.position = 0;
  if (auto kept = note_position(ctx, [](std::uint64_t) { return 0; }); !kept)
    warn(kept.error().message);
}

bool is_beyond_head(const fault& why) {
  return why.code == errc::invalid_input &&
         why.message.starts_with(position_header) &&
         why.message.find("beyond") != std::string::npos;
}

/// One call that is ready to be sent.
struct request {
  std::string path;
  headers with;
  const std::string& body;
};

std::optional<gateway::client_response> send(const context& ctx,
                                             const request& r,
                                             call_failure& failure) {
  auto answer = gateway::send_request({ctx.url, ctx.ca_file}, "POST", r.path,
                                      r.with, r.body);
  if (answer)
    return std::move(answer).value();
  failure.why = answer.error();
  failure.exit_code =
      failure.why.code == errc::invalid_input ? usage : unreachable;
  return std::nullopt;
}

result<json::document> read_answer(const context& ctx,
                                   const gateway::client_response& answer) {
  if (answer.status != http_ok)
    return fault_of(answer.status, answer.body);
  auto doc = json::parse_object(answer.body);
  if (doc)
    return doc;
  return fail(errc::internal, "the server's answer is not JSON (HTTP " +
                                  std::to_string(answer.status) + "); is " +
                                  ctx.url + " the API?");
}

std::string page_input(const json::document& input, std::int64_t size,
                       const std::string& cursor) {
  json::writer out;
  out.begin_object();
  for (const auto& m : input.GetObject())
    out.key({m.name.GetString(), m.name.GetStringLength()}).raw_value(m.value);
  out.field("limit", size);
  if (!cursor.empty())
    out.field("cursor", cursor);
  return out.end_object().str();
}

}  // namespace

// The message names the field; details would only repeat it. With its line
// breaks it could pass for lines of this program.
fault fault_of(int status, const std::string& body) {
  const auto unknown = fail(
      errc::internal, "the server answered HTTP " + std::to_string(status));
  auto answer = json::parse_object(body);
  if (!answer)
    return unknown;
  json::reader from{answer.value()};
  auto error = from.object("error");
  if (!error)
    return unknown;
  auto code = error.value().text("code");
  auto message = error.value().text("message");
  return fail(code ? errc_of(code.value()) : errc::internal,
              message ? printable(message.value()) : "");
}

std::optional<json::document> try_call(context& ctx, std::string_view group,
                                       std::string_view method,
                                       const std::string& body,
                                       call_failure& failure) {
  auto credential = read_credential(ctx);
  if (!credential) {
    failure = {credential.error(), usage};
    return std::nullopt;
  }
  request r{"/api/compute/" + std::string{group} + "/" + std::string{method},
            {{"authorization", "Bearer " + credential.value()},
             {"content-type", "application/json"}},
            body};
  const auto seen = known_position(ctx);
  const bool waits = seen > 0 && is_read(group, method);
  if (waits)
    r.with[position_header] = std::to_string(seen);
  auto answer = send(ctx, r, failure);
  if (answer && waits && answer->status != http_ok &&
      is_beyond_head(fault_of(answer->status, answer->body))) {
    forget_position(ctx);
    r.with.erase(position_header);
    answer = send(ctx, r, failure);
  }
  if (!answer)
    return std::nullopt;
  auto out = read_answer(ctx, *answer);
  if (!out) {
    failure = {out.error(), refused};
    return std::nullopt;
  }
  keep_position(ctx, out.value());
  return std::move(out).value();
}

std::optional<json::document> call(context& ctx, std::string_view group,
                                   std::string_view method,
                                   const std::string& body) {
  call_failure failure;
  auto answer = try_call(ctx, group, method, body, failure);
  if (!answer)
    report(ctx, failure.why, failure.exit_code);
  return answer;
}

std::optional<json::document> call_pages(context& ctx, std::string_view group,
                                         std::string_view method,
                                         const json::document& input,
                                         const pages& wanted) {
  json::document all;
  all.SetObject();
  auto& memory = all.GetAllocator();
  json::value items{rapidjson::kArrayType};
  auto cursor = wanted.cursor;
  std::set<std::string> seen{cursor};
  bool more = true;
  while (more && (wanted.most == 0 || items.Size() < wanted.most)) {
    auto size = page_size;
    if (wanted.most > 0)
      size = std::min<std::int64_t>(size, wanted.most - items.Size());
    auto page = call(ctx, group, method, page_input(input, size, cursor));
    if (!page)
      return std::nullopt;
    auto found = page->FindMember("items");
    if (found == page->MemberEnd() || !found->value.IsArray()) {
      report(ctx, fail(errc::internal, "the server's answer has no items"));
      return std::nullopt;
    }
    for (const auto& item : found->value.GetArray())
      items.PushBack(json::value{item, memory}, memory);
    auto next = json::reader{*page}.text("cursor");
    more = next.has_value();
    cursor = more ? next.value() : "";
    if (more && !seen.insert(cursor).second) {
      report(ctx, fail(errc::internal,
                       "the server's answer goes back to a page before it"));
      return std::nullopt;
    }
  }
  all.AddMember("items", items, memory);
  if (more)
    all.AddMember("cursor", json::value{cursor.c_str(), memory}, memory);
  return all;
}

}  // namespace bc::cli
