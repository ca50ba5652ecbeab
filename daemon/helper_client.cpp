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

class client final : public tpm::key_keeper {
 public:
  explicit client(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // Whoever configures a helper has a TPM in mind.
  bool is_there() override { return true; }

  result<bytes> ak_public() override {
    BC_TRY(parts, ask({op::ak_public}, 1));
    return std::move(parts[0]);
  }
  result<key_blobs> create_node_key() override {
    BC_TRY(parts, ask({op::create_node_key}, 2));
    return key_blobs{std::move(parts[0]), std::move(parts[1])};
  }
  result<pki::raw_signature> sign(const key_blobs& key,
                                  const pki::sha256_digest& digest) override {
    BC_TRY(parts, ask({op::sign, key, to_bytes(digest)}, 1));
    pki::raw_signature out{};
    if (parts[0].size() != out.size())
      return not_understood();
    std::copy(parts[0].begin(), parts[0].end(), out.begin());
    return out;
  }
  result<certified> certify(const key_blobs& key, byte_view csr) override {
    BC_TRY(parts, ask({op::certify, key, to_bytes(csr)}, 2));
    return certified{std::move(parts[0]), std::move(parts[1])};
  }

 private:
  static fault not_understood() {
    return fail(errc::unavailable,
                "bcd helper answers what is none of its protocol");
  }

  [[nodiscard]] fault silent(const std::string& why) const {
    return fail(errc::unavailable,
                "bcd helper, which holds the TPM, does not answer at " +
                    socket_.string() + ": " + why +
                    "; systemctl status bcd-helper");
  }

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

  const std::filesystem::path socket_;
};

}  // namespace

std::shared_ptr<tpm::key_keeper> helper_keeper(
    const std::filesystem::path& socket) {
  return std::make_shared<client>(socket);
}

}  // namespace bc::daemon
