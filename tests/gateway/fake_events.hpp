#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "base/json.hpp"
#include "gateway/http_server.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bc::gateway::testing {

/// An API whose events.list reads a list that the test fills, no more of it at
/// once than the real one: event n has the id "inc_1-n".
class fake_events final : public actors::api_port {
 public:
  void call(actors::api_call call,
            std::function<void(actors::api_reply)> done) override {
    actors::api_reply reply;
    {
      std::lock_guard lock{mutex_};
      calls_.push_back(call);
      if (others_commit_)
        data_.emplace_back(std::nullopt);
      reply = status_ == 200
                  ? actors::api_reply{200, page(call.body)}
                  : actors::api_reply{status_, R"({"error":{"code":"X"}})"};
    }
    done(std::move(reply));
  }

  void add(const std::string& data = "{}") {
    std::lock_guard lock{mutex_};
    data_.push_back(data);
  }
  /// Of another tenant.
  void add_others(std::size_t count) {
    std::lock_guard lock{mutex_};
    data_.resize(data_.size() + count);
  }
  /// One of them before each page from here on.
  void let_others_commit() {
    std::lock_guard lock{mutex_};
    others_commit_ = true;
  }
  void answer_with(int status) {
    std::lock_guard lock{mutex_};
    status_ = status;
  }
  std::vector<actors::api_call> calls() {
    std::lock_guard lock{mutex_};
    return calls_;
  }

 private:
  std::string page(const std::string& body) {
    auto input = json::parse_object(body);
    REQUIRE(input);
    json::reader in{input.value()};
    auto cursor = in.optional_text("cursor").value().value_or("0");
    auto limit = static_cast<std::size_t>(in.integer("limit").value());
    auto at =
        cursor == "head"
            ? data_.size()
            : std::strtoul(cursor.c_str() + cursor.find('-') + 1, nullptr, 10);
    json::writer out;
    out.begin_object().key("items").begin_array();
    auto bound = std::min(data_.size(), at + actors::max_events_scanned);
    for (; limit > 0 && at < bound; ++at) {
      if (!data_[at])
        continue;
      --limit;
      out.begin_object()
          .field("id", "inc_1-" + std::to_string(at + 1))
          .field("type", "node.joined")
          .key("data")
          .raw(*data_[at])
          .end_object();
    }
    out.end_array().field("cursor", "inc_1-" + std::to_string(at));
    return out.end_object().str();
  }

  std::mutex mutex_;
  int status_ = 200;
  bool others_commit_ = false;
  std::vector<std::optional<std::string>> data_;  // nullopt: another tenant's
  std::vector<actors::api_call> calls_;
};

/// A client's end of a stream.
class fake_stream final : public response_stream {
 public:
  bool write(std::string text) override {
    std::lock_guard lock{mutex_};
    if (gone_)
      return false;
    text_ += text;
    changed_.notify_all();
    return true;
  }
  void end() override {
    std::lock_guard lock{mutex_};
    ended_ = true;
    changed_.notify_all();
  }
  std::optional<std::size_t> unsent() const override {
    std::lock_guard lock{mutex_};
    if (gone_)
      return std::nullopt;
    return unsent_;
  }

  void leave() {
    std::lock_guard lock{mutex_};
    gone_ = true;
  }
  void hold(std::size_t unsent) {
    std::lock_guard lock{mutex_};
    unsent_ = unsent;
  }
  std::string text() const {
    std::lock_guard lock{mutex_};
    return text_;
  }
  void wait_for(std::string_view part) {
    std::unique_lock lock{mutex_};
    INFO(part);
    REQUIRE(changed_.wait_for(lock, seconds{20}, [&] {
      return text_.find(part) != std::string::npos;
    }));
  }
  void wait_for_end() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, seconds{20}, [&] { return ended_; }));
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool gone_ = false;
  bool ended_ = false;
  std::size_t unsent_ = 0;
};

}  // namespace bc::gateway::testing
