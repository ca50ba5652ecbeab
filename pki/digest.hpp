#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/secret_bytes.hpp"

#include <array>
#include <cstdint>

namespace bc::pki {

using sha256_digest = std::array<std::uint8_t, 32>;

[[nodiscard]] sha256_digest sha256(byte_view data);

/// SHA-256 over fields, each preceded by its length as 8 bytes big endian, so
/// that no two lists of fields give the same input.
class field_hash {
 public:
  field_hash();
  field_hash(const field_hash&) = delete;
  field_hash& operator=(const field_hash&) = delete;
  ~field_hash();
  field_hash& add(byte_view field);
  field_hash& add(std::string_view field) { return add(as_bytes(field)); }
  [[nodiscard]] sha256_digest finish() &&;

 private:
  void* ctx_;
};

/// From the operating system's generator; ends the process when it fails.
[[nodiscard]] bytes random_bytes(std::size_t size);
[[nodiscard]] secret_bytes random_secret(std::size_t size);

/// The 10 random bytes of a time-ordered id.
[[nodiscard]] std::array<std::uint8_t, 10> random_id_bytes();

/// A new time-ordered id of one kind.
template <class Id>
[[nodiscard]] Id mint(time_point now) {
  return Id::time_ordered(now, random_id_bytes());
}

}  // namespace bc::pki
