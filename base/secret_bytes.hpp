#pragma once

#include "base/bytes.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace bc {

/// Overwrites memory in a way the compiler keeps.
void wipe(void* data, std::size_t size) noexcept;

/// Equal length and content, in time that depends on the length alone.
[[nodiscard]] bool equal_in_constant_time(byte_view a, byte_view b) noexcept;

/// Bytes that must not outlive their use: wiped when destroyed or moved from,
/// not copyable by accident (clone() is greppable), without ordering, hashing
/// or an output operator. `expose()` marks each place that reads them.
class secret_bytes {
 public:
  secret_bytes() = default;
  explicit secret_bytes(byte_view data) : data_(data.begin(), data.end()) {}
  explicit secret_bytes(std::string_view text) : secret_bytes(as_bytes(text)) {}
  /// Takes the bytes over; the vector given is left empty.
  explicit secret_bytes(bytes&& data) noexcept : data_(std::move(data)) {}
  secret_bytes(secret_bytes&& other) noexcept
      : data_(std::exchange(other.data_, {})) {}
  secret_bytes& operator=(secret_bytes&& other) noexcept;
  secret_bytes(const secret_bytes&) = delete;
  secret_bytes& operator=(const secret_bytes&) = delete;
  ~secret_bytes();

  [[nodiscard]] secret_bytes clone() const { return secret_bytes{expose()}; }
  [[nodiscard]] byte_view expose() const noexcept { return data_; }
  [[nodiscard]] std::string_view expose_text() const noexcept {
    return as_text(data_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }
  [[nodiscard]] bool empty() const noexcept { return data_.empty(); }

 private:
  bytes data_;
};

/// Constant-time equality.
[[nodiscard]] bool operator==(const secret_bytes& a,
                              const secret_bytes& b) noexcept;

}  // namespace bc
