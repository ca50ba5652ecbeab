#pragma once

#include "pki/tpm/code.hpp"
#include "tests/actors/rejoin_world.hpp"
#include "tests/support/soft_tpm.hpp"

#include <functional>
#include <span>
#include <string_view>

/// Nodes whose certificates name an AK, and what goes wrong with the
/// certification of a key by it.
namespace bc::test {

/// True for what an attestation that is there fails by, of "<attestor>:<code>".
bool is_of_an_attestation(std::string_view reason);

struct broken_attestation {
  const char* what;
  pki::tpm::code code;
  std::function<void(testing::certification&)> before = [](auto&) {};
  std::function<void(wire::key_attestation&)> after = [](auto&) {};
};
/// One at least for each code, in the order they are judged.
std::span<const broken_attestation> broken_attestations();

/// A node that has this certificate, born then and for a day, written as it
/// stands in a journal.
member node_with(join_world& w, std::vector<std::string> statements,
                 time_point born);

/// A good daemon's renewal with this certification.
wire::renew_request attested_renewal(const renew_world& w, const member& m,
                                     const testing::certification& c);
/// The same of a return by an expired certificate.
wire::join_request attested_rejoin(rejoin_world& w, const member& m,
                                   const testing::certification& c);

}  // namespace bc::test
