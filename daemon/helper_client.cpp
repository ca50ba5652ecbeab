#include "daemon/helper_client.hpp"

#include "daemon/helper_frames.hpp"
#include "daemon/helper_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bc::daemon {

namespace {

using op = helper_operation;
using tpm::key_blobs;
using certified = tpm::device::certified;

// A TPM makes a key in some seconds at worst, and others may be before us.
constexpr seconds longest_answer{60};

fault not_understood() {
  return fail(errc::unavailable,
              "bcd helper answers what is none of its protocol");
}

// One request to the helper at a socket, and the parts of its answer.
class line_to_helper {
 public:
  explicit line_to_helper(std::filesystem::path socket)
      : socket_(std::move(socket)) {}

  [[nodiscard]] result<std::vector<bytes>> ask(const helper_request& request,
                                               std::size_t wanted) const {
    auto to = helper_address(socket_);
    auto line = make_helper_socket();
    if (!to || !line)
      return silent(to ? std::strerror(errno) : "the path is too long");
    limit(line, longest_answer);
    if (::connect(line.fd(), reinterpret_cast<const sockaddr*>(&*to),
                  sizeof *to) != 0)
      return silent(std::strerror(errno));
    auto content = send_all(line, encode(request))
                       ? receive_frame(line, longest_answer)
                       : std::nullopt;
    if (!content)
      return silent("it ended the connection");
    auto reply = decode_helper_reply(*content);
    if (!reply)
      return not_understood();
    if (auto* why = std::get_if<fault>(&*reply))
      return std::move(*why);
    auto& parts = std::get<std::vector<bytes>>(*reply);
    if (parts.size() != wanted)
      return not_understood();
    return std::move(parts);
  }

 private:
  [[nodiscard]] fault silent(const std::string& why) const {
    return fail(errc::unavailable,
                "bcd helper, which has the TPM and the hardware identifiers, "
                "does not answer at " +
                    socket_.string() + ": " + why +
                    "; systemctl status bcd-helper");
  }

  std::filesystem::path socket_;
};

class keeper final : public tpm::key_keeper {
 public:
  explicit keeper(line_to_helper line) : line_(std::move(line)) {}

  // Whoever configures a helper has a TPM in mind.
  bool is_there() override { return true; }

  result<bytes> ak_public() override {
    BC_TRY(parts, line_.ask({op::ak_public}, 1));
    return std::move(parts[0]);
  }
  result<key_blobs> create_node_key() override {
    BC_TRY(parts, line_.ask({op::create_node_key}, 2));
    return key_blobs{std::move(parts[0]), std::move(parts[1])};
  }
  result<pki::raw_signature> sign(const key_blobs& key,
                                  const pki::sha256_digest& digest) override {
    BC_TRY(parts, line_.ask({op::sign, key, to_bytes(digest)}, 1));
    pki::raw_signature out{};
    if (parts[0].size() != out.size())
      return not_understood();
    std::copy(parts[0].begin(), parts[0].end(), out.begin());
    return out;
  }
  result<certified> certify(const key_blobs& key, byte_view csr) override {
    BC_TRY(parts, line_.ask({op::certify, key, to_bytes(csr)}, 2));
    return certified{std::move(parts[0]), std::move(parts[1])};
  }

 private:
  const line_to_helper line_;
};

class hardware final : public hardware_source {
 public:
  explicit hardware(line_to_helper line) : line_(std::move(line)) {}

  result<pki::hardware_claims> read() override {
    auto parts = line_.ask({op::hardware}, 1);
    // All that it can be told of a request that is nothing but its kind.
    if (!parts && parts.error().code == errc::invalid_input)
      return fail(errc::unavailable,
                  "bcd helper is an older one and reads no hardware "
                  "identifiers: systemctl restart bcd-helper");
    if (!parts)
      return parts.error();
    return decode_hardware(parts.value()[0]);
  }

 private:
  const line_to_helper line_;
};

}  // namespace

std::shared_ptr<tpm::key_keeper> helper_keeper(
    const std::filesystem::path& socket) {
  return std::make_shared<keeper>(line_to_helper{socket});
}

std::unique_ptr<hardware_source> helper_hardware(
    const std::filesystem::path& socket) {
  return std::make_unique<hardware>(line_to_helper{socket});
}

}  // namespace bc::daemon
