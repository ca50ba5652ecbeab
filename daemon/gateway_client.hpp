#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// One request to the gateway and what came of it.
struct exchange {
  enum class fate {
    answered,
    unreachable,  // nothing was sent
    untrusted,    // the gateway's chain failed its checks; nothing was sent
    lost,         // sent, or partly, and no whole answer came
  };
  fate what = fate::unreachable;
  int status = 0;
  std::string body;
  std::vector<bytes> chain;  // as the gateway presented it, leaf first
  std::string why;           // in words, for the last three
  /// Of `lost`: the gateway did not take our client certificate (a TLS alert).
  bool certificate_rejected = false;
  std::string date = {};  // the answer's Date header
};

/// Carries a join body to the gateway: the network, or a test.
using transport = std::function<exchange(std::string_view body)>;

inline constexpr seconds connect_timeout{10};
inline constexpr seconds answer_timeout{30};

/// POST /v1/join over TLS 1.3. The chain must be the pinned serving CA's and
/// name the host; validity is judged by the caller, by the signed time.
[[nodiscard]] exchange post_join(const config& c, std::string_view body);

/// The same with another path, and with a client certificate when `me` is not
/// null. Ends early, as `lost` or `unreachable`, when `stop` is asked for.
[[nodiscard]] exchange post_to_gateway(const config& c, std::string_view path,
                                       std::string_view body,
                                       const node_identity* me,
                                       std::stop_token stop = {});
[[nodiscard]] exchange get_from_gateway(const config& c, std::string_view path,
                                        const node_identity* me = nullptr,
                                        std::stop_token stop = {});

/// POST in the clear, to a site agent on the provisioning network; an answer of
/// at most 64 KiB. Nothing that comes back is anybody's word but for what it
/// proves itself.
[[nodiscard]] exchange post_in_clear(const endpoint& to, std::string_view path,
                                     std::string_view body,
                                     std::stop_token stop = {});

/// Where a document is fetched from; no pin is known for it.
struct document_source {
  std::string url;                 // https://HOST[:PORT]
  std::filesystem::path ca_file;   // beside the system's roots; empty: none
  bool plain_on_loopback = false;  // takes http://127.0.0.1:PORT and [::1] too
};
/// GET of a path, at most 64 KiB. `untrusted`: no root vouches for the server's
/// certificate and name, or the URL is not one of those.
[[nodiscard]] exchange fetch_document(const document_source& from,
                                      std::string_view path);

}  // namespace bc::daemon
