#pragma once

#include "base/clock.hpp"
#include "base/errc.hpp"
#include "base/wire.hpp"
#include "pki/bundle.hpp"
#include "pki/digest.hpp"
#include "pki/signature.hpp"

#include <string>
#include <string_view>

/// The answers to joins, renewals and requests for a challenge (spec: DESIGN
/// section 7).
namespace bc::actors {

/// A body with its signature, as it is stored and given again.
struct signed_text {
  std::string text;
  bytes signature;
};

/// Signs a body with the join-signing key.
[[nodiscard]] signed_text sign_answer_body(const pki::key_bundle& keys,
                                           std::string body,
                                           pki::purpose purpose);

/// An answer without the server's time: for a body that is not well formed
/// and for a server without keys.
[[nodiscard]] wire::join_answer plain_failure(errc code, std::string message,
                                              std::string path = {});

/// Answers to a well-formed body, with the server's time signed for that CSR.
class answer_signer {
 public:
  answer_signer(const pki::key_bundle& keys, const pki::sha256_digest& csr)
      : keys_(keys), csr_(csr) {}

  [[nodiscard]] wire::join_answer failed(errc code, std::string_view message,
                                         time_point now) const;
  [[nodiscard]] wire::join_answer joined(signed_text body,
                                         time_point now) const;
  [[nodiscard]] wire::join_answer deferred(signed_text body,
                                           time_point now) const;
  [[nodiscard]] wire::join_answer renewed(signed_text body,
                                          time_point now) const;
  [[nodiscard]] wire::join_answer challenged(signed_text body,
                                             time_point now) const;

 private:
  [[nodiscard]] wire::join_answer accepted(wire::join_answer::kind what,
                                           signed_text body,
                                           time_point now) const;
  void sign_time(wire::join_answer& answer, time_point now) const;

  const pki::key_bundle& keys_;
  pki::sha256_digest csr_;
};

}  // namespace bc::actors
