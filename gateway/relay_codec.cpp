#include "gateway/relay_codec.hpp"

#include <algorithm>
#include <string_view>

namespace bc::gateway::relay {

namespace {

// The first byte of a message.
enum class type : std::uint8_t {
  request = 1,
  answer = 2,
  ping = 3,
  pong = 4,
  draining = 5,
  watch = 6,
  watching = 7,
  notice = 8
};

void put_type(std::string& out, type t) {
  out += static_cast<char>(t);
}

// What was read is moved out of the way when it is at least so much.
constexpr std::size_t compact_at = 64 * 1024;

void put(std::string& out, std::uint64_t number, int width) {
  for (int shift = (width - 1) * 8; shift >= 0; shift -= 8)
    out += static_cast<char>((number >> shift) & 0xff);
}

void put(std::string& out, std::string_view text, int width) {
  put(out, text.size(), width);
  out += text;
}

/// Reads fields one after another; once one is missing, all that follow are.
class field_reader {
 public:
  explicit field_reader(byte_view in) : rest_(in) {}

  std::uint64_t number(std::size_t width) {
    if (rest_.size() < width)
      good_ = false;
    if (!good_)
      return 0;
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < width; ++i)
      out = (out << 8) | rest_[i];
    rest_ = rest_.subspan(width);
    return out;
  }

  std::string text(std::size_t width, std::size_t limit) {
    auto size = number(width);
    if (size > limit || size > rest_.size())
      good_ = false;
    if (!good_)
      return {};
    std::string out{as_text(rest_.first(static_cast<std::size_t>(size)))};
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return out;
  }

  void must(bool holds) { good_ = good_ && holds; }

  /// True when every field was there and nothing is left.
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  byte_view rest_;
  bool good_ = true;
};

request read_request(field_reader& in) {
  request out;
  out.id = in.number(8);
  out.kind = static_cast<std::uint8_t>(in.number(1));
  out.correlation = in.text(2, max_correlation);
  out.client_certificate = in.text(2, max_certificate);
  out.body = in.text(4, max_request_body);
  return out;
}

answer read_answer(field_reader& in) {
  answer out;
  out.id = in.number(8);
  out.status = static_cast<std::uint16_t>(in.number(2));
  out.body = in.text(4, max_answer_body);
  return out;
}

watch read_watch(field_reader& in) {
  return {in.text(2, max_name)};
}

notice read_notice(field_reader& in) {
  notice out;
  out.what = static_cast<std::uint8_t>(in.number(1));
  // One encoding: what is neither is refused.
  auto superseded = in.number(1);
  in.must(superseded <= 1);
  out.superseded = superseded == 1;
  out.node = in.text(2, max_name);
  out.keep = in.text(2, max_name);
  return out;
}

void write(std::string& out, const request& r) {
  put_type(out, type::request);
  put(out, r.id, 8);
  put(out, r.kind, 1);
  put(out, r.correlation, 2);
  put(out, r.client_certificate, 2);
  put(out, r.body, 4);
}

void write(std::string& out, const answer& a) {
  put_type(out, type::answer);
  put(out, a.id, 8);
  put(out, a.status, 2);
  put(out, a.body, 4);
}

void write(std::string& out, const ping& p) {
  put_type(out, type::ping);
  put(out, p.number, 8);
}

void write(std::string& out, const pong& p) {
  put_type(out, type::pong);
  put(out, p.number, 8);
}

void write(std::string& out, const draining&) {
  put_type(out, type::draining);
}

void write(std::string& out, const watch& w) {
  put_type(out, type::watch);
  put(out, w.gateway, 2);
}

void write(std::string& out, const watching&) {
  put_type(out, type::watching);
}

void write(std::string& out, const notice& n) {
  put_type(out, type::notice);
  put(out, n.what, 1);
  put(out, n.superseded ? 1U : 0U, 1);
  put(out, n.node, 2);
  put(out, n.keep, 2);
}

}  // namespace

bool fits(const request& r) noexcept {
  return r.correlation.size() <= max_correlation &&
         r.client_certificate.size() <= max_certificate &&
         r.body.size() <= max_request_body;
}

bool fits(const notice& n) noexcept {
  return n.node.size() <= max_name && n.keep.size() <= max_name;
}

bool fits(const answer& a) noexcept {
  // Beyond these it is no HTTP status of an answer.
  return a.status >= 200 && a.status <= 599 && a.body.size() <= max_answer_body;
}

std::string encode(const message& m) {
  std::string out(length_bytes, '\0');
  std::visit([&out](const auto& one) { write(out, one); }, m);
  std::string length;
  put(length, out.size() - length_bytes, length_bytes);
  out.replace(0, length_bytes, length);
  return out;
}

result<message> decode(byte_view bytes) {
  field_reader in{bytes};
  message out;
  switch (static_cast<type>(in.number(1))) {
    case type::request:
      out = read_request(in);
      break;
    case type::answer:
      out = read_answer(in);
      if (!fits(std::get<answer>(out)))
        return fail(errc::invalid_input, "not an answer of the relay protocol");
      break;
    case type::ping:
      out = ping{in.number(8)};
      break;
    case type::pong:
      out = pong{in.number(8)};
      break;
    case type::draining:
      out = draining{};
      break;
    case type::watch:
      out = read_watch(in);
      break;
    case type::watching:
      out = watching{};
      break;
    case type::notice:
      out = read_notice(in);
      break;
    default:
      return fail(errc::invalid_input, "not a message of the relay protocol");
  }
  if (!in.done())
    return fail(errc::invalid_input, "not a message of the relay protocol");
  return out;
}

void frame_reader::take(byte_view bytes) {
  if (!broken_)
    buffer_ += as_text(bytes);
}

result<std::optional<message>> frame_reader::next() {
  auto rest = as_bytes(buffer_).subspan(read_);
  field_reader head{rest.first(std::min(rest.size(), length_bytes))};
  auto size = head.number(length_bytes);
  if (size > limit_ || (rest.size() >= length_bytes && size == 0))
    broken_ = true;
  if (broken_) {
    buffer_.clear();
    read_ = 0;
    return fail(errc::invalid_input,
                "the length of a relay frame is out of bounds");
  }
  if (rest.size() < length_bytes || rest.size() - length_bytes < size) {
    // Nothing whole is left: what remains is the start of one frame.
    if (read_ > 0) {
      buffer_.erase(0, read_);
      read_ = 0;
    }
    return std::optional<message>{};
  }
  auto one = decode(rest.subspan(length_bytes, static_cast<std::size_t>(size)));
  if (!one) {
    broken_ = true;
    return one.error();
  }
  read_ += length_bytes + static_cast<std::size_t>(size);
  if (read_ == buffer_.size() || read_ >= compact_at) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  return std::optional<message>{std::move(one).value()};
}

}  // namespace bc::gateway::relay
