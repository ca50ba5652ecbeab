#include "base/json.hpp"
#include "gateway/event_page.hpp"
#include "gateway/request_head.hpp"
#include "ops/cli/sse_reader.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace bc::fuzz {

namespace {

// Up to the separator, which is taken away too.
std::string_view next_part(std::string_view& rest, char separator) {
  auto part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

struct events_taken {
  std::vector<std::string> data;
  std::string last_id;
  bool operator==(const events_taken&) const = default;
};

events_taken take_events(std::string_view stream, std::size_t piece) {
  events_taken out;
  cli::sse_reader reader{
      [&out](const std::string& data) { out.data.push_back(data); }};
  for (std::size_t at = 0; at < stream.size(); at += piece)
    reader.take(stream.substr(at, piece));
  out.last_id = reader.last_id();
  // What is unfinished is forgotten with the connection.
  const auto whole = out;
  reader.begin();
  reader.take("\n");
  BC_MUST(out.data == whole.data);
  BC_MUST(reader.last_id() == whole.last_id);
  return out;
}

char other_case(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter ? static_cast<char>(c ^ 0x20) : c;
}

std::size_t count_of(const gateway::request_head& head,
                     std::string_view lower) {
  return static_cast<std::size_t>(
      std::ranges::count_if(head.lines, [&](const auto& line) {
        return std::ranges::equal(line.name, lower, [](char a, char b) {
          return a == b || (other_case(a) == b && b >= 'a' && b <= 'z');
        });
      }));
}

}  // namespace

// "METHOD TARGET VERSION", then a header in each line, "name:value". What is
// taken has one length, one Host and a path, however the names are written.
void request_head(byte_view input) {
  auto rest = text_of(input);
  auto first = next_part(rest, '\n');
  gateway::request_head head;
  head.method = next_part(first, ' ');
  head.target = next_part(first, ' ');
  head.version = first == "10" ? 10 : 11;
  while (!rest.empty()) {
    auto line = next_part(rest, '\n');
    auto name = next_part(line, ':');
    head.lines.push_back({name, line});
  }
  gateway::http_request request;
  const auto fault = gateway::take_head(head, request);

  std::vector<std::string> names;
  for (const auto& line : head.lines)
    std::ranges::transform(line.name, std::back_inserter(names.emplace_back()),
                           other_case);
  auto otherwise = head;
  for (std::size_t i = 0; i < names.size(); ++i)
    otherwise.lines[i].name = names[i];
  gateway::http_request again;
  BC_MUST(gateway::take_head(otherwise, again).has_value() ==
          fault.has_value());
  BC_MUST(again.headers == request.headers);
  BC_MUST(gateway::waits_for_continue(otherwise) ==
          gateway::waits_for_continue(head));
  if (fault) {
    BC_MUST(fault->status == 400 || fault->status == 405);
    return;
  }
  BC_MUST(request.path.starts_with('/'));
  BC_MUST(request.path.find('?') == std::string::npos);
  const auto target = head.target == request.path
                          ? request.path
                          : request.path + "?" + request.query;
  BC_MUST(target == head.target);
  BC_MUST(count_of(head, "content-length") +
              count_of(head, "transfer-encoding") <=
          1);
  const auto hosts = count_of(head, "host");
  BC_MUST(hosts == 1 || (hosts == 0 && head.version == 10));
  for (const auto& [name, value] : request.headers) {
    BC_MUST(count_of(head, name) > 0);
    (void)value;
  }
}

// The cursor, a line feed, an answer of events.list. Who reads the stream gets
// the events of the answer, each as it is there.
void event_page(byte_view input) {
  auto rest = text_of(input);
  const auto from = next_part(rest, '\n');
  const std::string answer{rest};
  auto page = gateway::read_event_page(answer, from, 2);
  if (!page)
    return;
  const auto got = take_events(page.value().frames, page.value().frames.size());
  auto body = json::parse_object(answer);
  BC_MUST(body.has_value());
  const auto& items = body.value()["items"];
  BC_MUST(got.data.size() == items.Size() || page.value().more);
  for (std::size_t i = 0; i < got.data.size(); ++i)
    BC_MUST(got.data[i] ==
            json::to_text(items[static_cast<rapidjson::SizeType>(i)]));
}

// A stream of server-sent events is read the same however it is cut; the first
// byte says into which pieces.
void event_stream(byte_view input) {
  auto text = text_of(input);
  if (text.empty())
    return;
  const auto piece = static_cast<std::size_t>(1 + input.front() % 64);
  text.remove_prefix(1);
  const auto whole = take_events(text, std::max<std::size_t>(1, text.size()));
  BC_MUST(take_events(text, 1) == whole);
  BC_MUST(take_events(text, piece) == whole);
  for (const auto& data : whole.data)
    BC_MUST(!data.empty() && data.find('\r') == std::string::npos);
  BC_MUST(whole.last_id.find_first_of("\r\n") == std::string::npos);
}

}  // namespace bc::fuzz
