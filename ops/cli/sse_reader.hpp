#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace bc::cli {

/// Takes a stream of server-sent events apart (WHATWG HTML 9.2.6), however it
/// was cut on its way.
class sse_reader {
 public:
  /// `on_event` gets the data of each event that has any.
  explicit sse_reader(std::function<void(const std::string& data)> on_event)
      : on_event_(std::move(on_event)) {}

  /// Another connection: what the last one left unfinished comes again.
  void begin();
  void take(std::string_view text);
  /// What to resume after; empty: the server named nothing yet.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }

 private:
  void take_line(std::string_view line);

  std::function<void(const std::string&)> on_event_;
  std::string line_;
  bool after_cr_ = false;
  std::string id_;
  std::string data_;
  std::string last_id_;
};

}  // namespace bc::cli
