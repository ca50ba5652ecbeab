#include "base/secret_bytes.hpp"

#include <cstring>

namespace bc {

void wipe(void* data, std::size_t size) noexcept {
  if (data == nullptr || size == 0)
    return;
  std::memset(data, 0, size);
  // Tells the compiler that the memory is read, so that the memset stays.
  asm volatile("" : : "r"(data) : "memory");
}

bool equal_in_constant_time(byte_view a, byte_view b) noexcept {
  if (a.size() != b.size())
    return false;
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

secret_bytes& secret_bytes::operator=(secret_bytes&& other) noexcept {
  if (this != &other) {
    wipe(data_.data(), data_.size());
    data_ = std::exchange(other.data_, {});
  }
  return *this;
}

secret_bytes::~secret_bytes() {
  wipe(data_.data(), data_.size());
}

bool operator==(const secret_bytes& a, const secret_bytes& b) noexcept {
  return equal_in_constant_time(a.expose(), b.expose());
}

}  // namespace bc
