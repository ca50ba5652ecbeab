#include "ops/serve/failure_log.hpp"

#include "base/json.hpp"

#include <utility>

namespace bc::serve {

namespace {

constexpr int first_of_ours = 500;

// "UNAVAILABLE: the server is overloaded; retry"; an answer of another form is
// only its status.
std::string words_of(std::string_view body) {
  auto read = json::parse_object(body);
  if (!read)
    return {};
  auto error = json::reader{read.value()}.object("error");
  if (!error)
    return {};
  auto code = error.value().text("code");
  auto message = error.value().text("message");
  return code && message ? " " + code.value() + ": " + message.value()
                         : std::string{};
}

}  // namespace

failure_log::failure_log(std::function<void(const std::string&)> write)
    : write_(std::move(write)) {}

bool failure_log::take_place(std::uint64_t& left_out) {
  std::lock_guard lock{mutex_};
  const auto now = steady::now();
  if (now - second_ >= std::chrono::seconds{1}) {
    second_ = now;
    told_ = 0;
  }
  if (told_ >= most_a_second) {
    ++left_out_;
    return false;
  }
  ++told_;
  left_out = std::exchange(left_out_, 0);
  return true;
}

void failure_log::tell(std::string_view what, int status, std::string_view body,
                       std::string_view request) {
  std::uint64_t left_out = 0;
  if (status < first_of_ours || !take_place(left_out))
    return;
  std::string line{what};
  line += " failed: " + std::to_string(status) + words_of(body);
  line.append(" (").append(request).append(")");
  if (left_out > 0)
    line += "; " + std::to_string(left_out) + " more before it";
  write_(line);
}

}  // namespace bc::serve
