#include "ops/cli/sse_reader.hpp"

#include <algorithm>
#include <utility>

namespace bc::cli {

void sse_reader::begin() {
  line_.clear();
  data_.clear();
  after_cr_ = false;
  id_ = last_id_;
}

void sse_reader::take(std::string_view text) {
  for (char c : text) {
    // CR LF is one end of a line, also when it comes in two pieces.
    if (c == '\n' && std::exchange(after_cr_, false))
      continue;
    after_cr_ = c == '\r';
    if (c == '\n' || c == '\r')
      take_line(std::exchange(line_, {}));
    else
      line_ += c;
  }
}

void sse_reader::take_line(std::string_view line) {
  if (line.empty()) {
    last_id_ = id_;
    if (!data_.empty())
      data_.pop_back();  // the last line's end
    if (auto data = std::exchange(data_, {}); !data.empty())
      on_event_(data);
    return;
  }
  auto name = line.substr(0, line.find(':'));
  auto value = line.substr(std::min(line.size(), name.size() + 1));
  if (value.starts_with(' '))
    value.remove_prefix(1);
  if (name == "data")
    data_.append(value) += '\n';
  else if (name == "id" && value.find('\0') == std::string_view::npos)
    id_ = value;
}

}  // namespace bc::cli
