#pragma once

#include "daemon/tpm/device.hpp"
#include "pki/tpm/cursor.hpp"
#include "tests/support/software_tpm.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <optional>

/// A machine's TPM between the test and swtpm.
namespace bc::testing {

using daemon::tpm::device;
using daemon::tpm::handle;
using daemon::tpm::open_tcti;
using daemon::tpm::transport;
using pki::tpm::put_number;

// Sees each command before the TPM does, and may answer in its place.
class watched final : public transport {
 public:
  using see = std::function<std::optional<bytes>(byte_view)>;
  watched(std::unique_ptr<transport> to, see s)
      : to_(std::move(to)), see_(std::move(s)) {}
  result<secret_bytes> exchange(byte_view command) override {
    if (auto answer = see_(command))
      return secret_bytes{std::move(*answer)};
    return to_->exchange(command);
  }

 private:
  std::unique_ptr<transport> to_;
  see see_;
};

inline std::unique_ptr<transport> connect(const software_tpm& t) {
  auto out = open_tcti(t.tcti());
  REQUIRE(out);
  return std::move(out).value();
}

inline std::uint32_t word(byte_view in, std::size_t at) {
  return static_cast<std::uint32_t>(in[at] << 24 | in[at + 1] << 16 |
                                    in[at + 2] << 8 | in[at + 3]);
}

// A response of a code alone.
inline bytes answer_of(std::uint32_t code) {
  bytes out{0x80, 0x01, 0, 0, 0, 10};
  put_number(out, code, 4);
  return out;
}

// One raw command with an empty password for one handle.
inline std::uint32_t raw(const software_tpm& t, std::uint32_t command,
                         handle on, byte_view parameters) {
  bytes body;
  put_number(body, on, 4);
  put_number(body, 9, 4);
  put_number(body, 0x40000009, 4);
  for (int i = 0; i < 5; ++i)
    body.push_back(0);
  pki::tpm::put(body, parameters);
  bytes packet{0x80, 0x02};
  put_number(packet, 10 + body.size(), 4);
  put_number(packet, command, 4);
  pki::tpm::put(packet, body);
  auto got = connect(t)->exchange(packet);
  REQUIRE(got);
  return word(got.value().expose(), 6);
}

inline std::size_t left_open(const software_tpm& t) {
  device d{connect(t)};
  std::size_t out = 0;
  for (handle first : {0x80000000u, 0x02000000u, 0x03000000u})
    out += d.handles(first).value().size();
  return out;
}

}  // namespace bc::testing
