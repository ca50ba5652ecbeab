#include "events/checkpoint.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "pki/signature.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace bc::events {

namespace {

constexpr std::string_view json_start = "{\"kind\":\"checkpoint\",";
constexpr std::string_view line_start = "checkpoint incarnation=";

// The fields as they are signed, in order.
struct signed_fields {
  explicit signed_fields(const checkpoint& c)
      : incarnation(c.incarnation.str()),
        position(std::to_string(c.position)),
        commit(std::to_string(c.commit)),
        link(c.link),
        time(std::to_string(to_millis(c.time))) {}

  std::string incarnation, position, commit, link, time;
};

fault unreadable(std::string why) {
  return fail(errc::invalid_input,
              "not a checkpoint of a journal: " + std::move(why));
}

// Decimal digits as to_string writes them.
result<std::uint64_t> count_of(std::string_view text) {
  std::uint64_t n = 0;
  auto end = text.data() + text.size();
  auto [stop, failed] = std::from_chars(text.data(), end, n);
  if (failed != std::errc{} || stop != end || std::to_string(n) != text)
    return unreadable("not a number: " + std::string{text.substr(0, 32)});
  return n;
}

result<checkpoint> checked(checkpoint c) {
  if (c.position == 0 || c.commit == 0 || c.commit > c.position)
    return unreadable("a commit beyond its position");
  if (!is_lower_hex(c.link, 64))
    return unreadable("its link is not a hash");
  if (!is_lower_hex(c.signature, 128))
    return unreadable("its signature has another form");
  return c;
}

// "name=value" pairs in the order of checkpoint_line.
result<checkpoint> parse_line(std::string_view text) {
  constexpr std::array<std::string_view, 6> names = {
      "incarnation", "position", "commit", "link", "time", "signature"};
  std::array<std::string_view, 6> values;
  text.remove_prefix(std::string_view{"checkpoint "}.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto end = std::min(text.find(' '), text.size());
    auto word = text.substr(0, end);
    if (!word.starts_with(names[i]) || word.substr(names[i].size(), 1) != "=")
      return unreadable("no " + std::string{names[i]});
    values[i] = word.substr(names[i].size() + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  checkpoint c;
  BC_TRY(incarnation, incarnation_id::parse(values[0]));
  BC_TRY(position, count_of(values[1]));
  BC_TRY(commit, count_of(values[2]));
  BC_TRY(time, from_rfc3339(values[4]));
  c.incarnation = std::move(incarnation);
  c.position = position;
  c.commit = commit;
  c.link = values[3];
  c.time = time;
  c.signature = values[5];
  return checked(std::move(c));
}

}  // namespace

checkpoint sign_checkpoint(const head_row& head, time_point at,
                           const pki::private_key& key) {
  checkpoint c{head.position, head.commit, head.link, head.incarnation, at, {}};
  signed_fields f{c};
  c.signature = to_hex(
      pki::sign(key, pki::purpose::journal_checkpoint,
                {as_bytes(f.incarnation), as_bytes(f.position),
                 as_bytes(f.commit), as_bytes(f.link), as_bytes(f.time)}));
  return c;
}

bool is_signed_by(const checkpoint& c, const pki::public_key& key) {
  auto signature = from_hex(c.signature);
  if (!signature)
    return false;
  signed_fields f{c};
  return pki::verify(key, pki::purpose::journal_checkpoint,
                     {as_bytes(f.incarnation), as_bytes(f.position),
                      as_bytes(f.commit), as_bytes(f.link), as_bytes(f.time)},
                     signature.value());
}

std::string checkpoint_line(const checkpoint& c) {
  return "checkpoint incarnation=" + c.incarnation.str() +
         " position=" + std::to_string(c.position) +
         " commit=" + std::to_string(c.commit) + " link=" + c.link +
         " time=" + to_rfc3339(c.time) + " signature=" + c.signature;
}

std::string checkpoint_json(const checkpoint& c) {
  json::writer out;
  out.begin_object()
      .field("kind", "checkpoint")
      .field("incarnation", c.incarnation.str())
      .field("position", c.position)
      .field("commit", c.commit)
      .field("link", c.link)
      .field("time", to_rfc3339(c.time))
      .field("signature", c.signature)
      .end_object();
  return out.str();
}

result<checkpoint> parse_checkpoint_json(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  checkpoint c;
  BC_TRY(incarnation_text, from.text("incarnation"));
  BC_TRY(incarnation, incarnation_id::parse(incarnation_text));
  BC_TRY(position, from.integer("position"));
  BC_TRY(commit, from.integer("commit"));
  BC_TRY(link, from.text("link"));
  BC_TRY(time_text, from.text("time"));
  BC_TRY(time, from_rfc3339(time_text));
  BC_TRY(signature, from.text("signature"));
  if (position < 0 || commit < 0)
    return unreadable("a negative position");
  c.incarnation = std::move(incarnation);
  c.position = static_cast<std::uint64_t>(position);
  c.commit = static_cast<std::uint64_t>(commit);
  c.link = std::move(link);
  c.time = time;
  c.signature = std::move(signature);
  BC_TRY(read, checked(std::move(c)));
  // No field beside them, none in another form.
  if (checkpoint_json(read) != text)
    return unreadable("not in the form that is written");
  return std::move(read);
}

result<std::optional<checkpoint>> find_checkpoint(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with('{')) {
    if (!line.starts_with(json_start))
      return std::nullopt;
    BC_TRY(c, parse_checkpoint_json(line));
    return std::optional{std::move(c)};
  }
  auto at = line.find(line_start);
  if (at == std::string_view::npos)
    return std::nullopt;
  BC_TRY(c, parse_line(line.substr(at)));
  return std::optional{std::move(c)};
}

bool is_signed_by_any(const checkpoint& c,
                      std::span<const pki::public_key> keys) {
  return std::ranges::any_of(
      keys, [&](const auto& key) { return is_signed_by(c, key); });
}

std::string journal_key_text(const pki::public_key& key) {
  return to_base64(key.spki());
}

result<pki::public_key> parse_journal_key(std::string_view text) {
  auto der = from_base64(trimmed(text));
  if (!der)
    return fail(errc::invalid_input,
                "not a journal key: one line of base64, as `better-compute "
                "pki show` prints it");
  return pki::public_key::from_spki(der.value());
}

result<std::vector<pki::public_key>> parse_journal_keys(std::string_view text) {
  std::vector<pki::public_key> out;
  text = trimmed(text);
  do {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    BC_TRY(key, parse_journal_key(line));
    out.push_back(key);
  } while (!text.empty());
  return out;
}

}  // namespace bc::events
