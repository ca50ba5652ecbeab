#include "daemon/helper_server.hpp"

#include "daemon/helper_frames.hpp"
#include "daemon/helper_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr int backlog = 16;
constexpr mode_t for_anybody = 0666;

fault bad(const std::string& what) {
  return fail(errc::invalid_state, what + ": " + std::strerror(errno));
}

helper_reply given(std::vector<bytes> parts) {
  return helper_reply{std::move(parts)};
}

const fault& not_done() {
  static const auto out =
      fail(errc::invalid_input, "bcd helper does not do this");
  return out;
}

helper_reply claims_of(
    const std::function<result<pki::hardware_claims>()>& hardware) {
  if (!hardware)
    return not_done();
  auto read = hardware();
  if (!read)
    return read.error();
  auto got = encode_hardware(read.value());
  return got ? given({got.value()}) : helper_reply{got.error()};
}

helper_reply carried_out(const helper_request& request,
                         const helper_options& options, tpm::key_keeper& tpm) {
  using op = helper_operation;
  switch (request.what) {
    case op::ak_public: {
      auto got = tpm.ak_public();
      return got ? given({got.value()}) : helper_reply{got.error()};
    }
    case op::create_node_key: {
      auto got = tpm.create_node_key();
      return got ? given({got.value().private_area, got.value().public_area})
                 : helper_reply{got.error()};
    }
    case op::sign: {
      pki::sha256_digest digest{};
      std::copy(request.input.begin(), request.input.end(), digest.begin());
      auto got = tpm.sign(request.key, digest);
      return got ? given({to_bytes(got.value())}) : helper_reply{got.error()};
    }
    case op::certify: {
      auto got = tpm.certify(request.key, request.input);
      return got ? given({got.value().info, got.value().signature})
                 : helper_reply{got.error()};
    }
    case op::hardware:
      return claims_of(options.hardware);
  }
  return not_done();
}

class server {
 public:
  server(const helper_options& options, tpm::key_keeper& tpm)
      : options_(options),
        tpm_(tpm),
        listener_(make_helper_socket()),
        stopped_(::eventfd(0, EFD_CLOEXEC)) {}

  result<void> listen() {
    auto at = helper_address(options_.socket);
    if (!at || !listener_ || !stopped_)
      return fail(errc::invalid_state,
                  "no socket can be made at " + options_.socket.string());
    const auto* address = reinterpret_cast<const sockaddr*>(&*at);
    BC_TRYV(clear_place(address, sizeof *at));
    const auto path = options_.socket.string();
    // Anybody may connect, and the kernel tells who it is: a service without
    // the powers of root can give no file away.
    if (::bind(listener_.fd(), address, sizeof *at) != 0 ||
        ::chmod(path.c_str(), for_anybody) != 0 ||
        ::listen(listener_.fd(), backlog) != 0)
      return bad("cannot make " + path);
    return ok();
  }

  void serve(const std::stop_token& stop) {
    std::stop_callback wake{stop, [this] {
                              const std::uint64_t one = 1;
                              (void)!::write(stopped_.fd(), &one, sizeof one);
                            }};
    while (!stop.stop_requested()) {
      pollfd both[] = {{listener_.fd(), POLLIN, 0}, {stopped_.fd(), POLLIN, 0}};
      if (::poll(both, 2, -1) < 0 && errno != EINTR)
        return;
      if (stop.stop_requested())
        return;
      if ((both[0].revents & POLLIN) != 0)
        take(helper_socket{
            ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC)});
    }
  }

  void remove() const noexcept { ::unlink(options_.socket.c_str()); }

 private:
  // What a helper that was killed left; never a file of another kind.
  [[nodiscard]] result<void> clear_place(const sockaddr* at, socklen_t size) {
    struct stat about {};
    if (::lstat(options_.socket.c_str(), &about) != 0)
      return ok();
    if (!S_ISSOCK(about.st_mode))
      return fail(errc::invalid_state,
                  options_.socket.string() + " is there and is no socket");
    auto probe = make_helper_socket();
    if (probe && ::connect(probe.fd(), at, size) == 0)
      return fail(errc::conflict,
                  "another bcd helper answers at " + options_.socket.string());
    remove();
    return ok();
  }

  [[nodiscard]] bool may_ask(const helper_socket& peer) const {
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(peer.fd(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == 0 || who.uid == options_.user);
  }

  void take(const helper_socket& peer) {
    if (!peer)
      return;
    if (!may_ask(peer))
      return tell("a process of another user asked, and was turned away");
    limit(peer, options_.patience);
    auto content = receive_frame(peer, options_.patience);
    if (!content)
      return;
    auto request = decode_helper_request(*content);
    const auto reply = request ? carried_out(*request, options_, tpm_)
                               : helper_reply{not_done()};
    const auto* why = std::get_if<fault>(&reply);
    tell(why == nullptr ? std::string{} : why->message);
    (void)send_all(peer, encode(reply));
  }

  // Once for each change.
  void tell(const std::string& trouble) {
    if (std::exchange(told_, trouble) != trouble && !trouble.empty())
      options_.say(trouble);
  }

  const helper_options& options_;
  tpm::key_keeper& tpm_;
  helper_socket listener_;
  helper_socket stopped_;
  std::string told_;
};

}  // namespace

result<void> run_helper(const helper_options& options, tpm::key_keeper& tpm,
                        std::stop_token stop) {
  server one{options, tpm};
  BC_TRYV(one.listen());
  if (options.ready)
    options.ready();
  one.serve(stop);
  one.remove();
  return ok();
}

}  // namespace bc::daemon
