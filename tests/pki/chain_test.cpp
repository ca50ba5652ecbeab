// spec: joining#the-join-key-and-its-fallback; CASES 174
#include "pki/chain.hpp"

#include "pki/authority.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

struct world {
  issuer ca = make_ca("serving CA", noon).value();
  issuer leaf =
      issue_server_certificate(
          ca, {"gw.example.com", "*.eu.example.com", "192.0.2.7"}, noon)
          .value();
  std::vector<bytes> chain{leaf.certificate, ca.certificate};
  std::string pin = ca.key.pub().pin();
};

bytes node_leaf_of(const issuer& ca) {
  node_certificate_request request{.subject_key = private_key::generate().pub(),
                                   .trust_domain = "d",
                                   .site = "s",
                                   .node = "n",
                                   .statements = {},
                                   .now = noon,
                                   .serial_random = {}};
  return issue_node_certificate(ca, request).der;
}

}  // namespace

TEST_CASE("chain: the CA's pin holds, also after a renewal (case 174)") {
  world w;
  CHECK(check_server_chain(w.chain, w.pin, "gw.example.com") ==
        chain_fault::none);
  auto renewed =
      issue_server_certificate(w.ca, {"gw.example.com"}, noon).value();
  CHECK(renewed.key.pub().pin() != w.leaf.key.pub().pin());
  CHECK(check_server_chain({renewed.certificate, w.ca.certificate}, w.pin,
                           "gw.example.com") == chain_fault::none);
}

TEST_CASE("chain: a pin of the leaf or of a certificate fails (case 174)") {
  world w;
  auto of_certificate = "sha256/" + to_base64(sha256(w.ca.certificate));
  for (const auto& pin :
       {w.leaf.key.pub().pin(), of_certificate, std::string{},
        to_hex(w.ca.key.pub().spki_sha256()), w.pin + "=", w.pin.substr(7)})
    CHECK(check_server_chain(w.chain, pin, "gw.example.com") ==
          chain_fault::pin);
  // Sending the leaf twice does not make a CA of it.
  CHECK(check_server_chain({w.leaf.certificate, w.leaf.certificate},
                           w.leaf.key.pub().pin(),
                           "gw.example.com") == chain_fault::pin);
}

TEST_CASE("chain: any of several pins, while the serving CA is replaced") {
  world w, next;
  using pins = std::vector<std::string>;
  for (const auto& both : {pins{w.pin, next.pin}, pins{next.pin, w.pin}}) {
    CHECK(check_server_chain(w.chain, both, "gw.example.com") ==
          chain_fault::none);
    CHECK(check_server_chain(next.chain, both, "gw.example.com") ==
          chain_fault::none);
    CHECK(check_server_chain(w.chain, both, "other.example.com") ==
          chain_fault::name);
    // The one's leaf, the other's CA.
    CHECK(check_server_chain({w.leaf.certificate, next.ca.certificate}, both,
                             "gw.example.com") == chain_fault::signature);
  }
  CHECK(check_server_chain(w.chain, pins{next.pin}, "gw.example.com") ==
        chain_fault::pin);
  CHECK(check_server_chain(w.chain, pins{}, "gw.example.com") !=
        chain_fault::none);
}

TEST_CASE("chain: the pinned CA must be there and must have signed") {
  world w, other;
  CHECK(check_server_chain({}, w.pin, "gw.example.com") ==
        chain_fault::no_chain);
  CHECK(check_server_chain({w.leaf.certificate}, w.pin, "gw.example.com") ==
        chain_fault::pin);
  CHECK(check_server_chain({bytes{1, 2}, w.ca.certificate}, w.pin,
                           "gw.example.com") == chain_fault::no_chain);
  auto trailing = w.ca.certificate;
  trailing.push_back(0);
  CHECK(check_server_chain({w.leaf.certificate, trailing}, w.pin,
                           "gw.example.com") == chain_fault::no_chain);
  CHECK(check_server_chain({other.leaf.certificate, w.ca.certificate}, w.pin,
                           "gw.example.com") == chain_fault::signature);
  CHECK(check_server_chain(
            {w.leaf.certificate, other.ca.certificate, w.ca.certificate}, w.pin,
            "gw.example.com") == chain_fault::none);
  std::vector<bytes> flood(100, w.ca.certificate);
  flood[0] = w.leaf.certificate;
  CHECK(check_server_chain(flood, w.pin, "gw.example.com") ==
        chain_fault::no_chain);
  // The CA itself is no server.
  CHECK(check_server_chain({w.ca.certificate, w.ca.certificate}, w.pin,
                           "gw.example.com") != chain_fault::none);
}

TEST_CASE("chain: the host is named exactly, or by one wildcard label") {
  world w;
  auto at = [&](std::string_view host) {
    return check_server_chain(w.chain, w.pin, host);
  };
  CHECK(at("GW.example.com") == chain_fault::none);
  CHECK(at("a.eu.example.com") == chain_fault::none);
  CHECK(at("192.0.2.7") == chain_fault::none);
  for (const char* host :
       {"", "other.example.com", "example.com", ".example.com",
        "eu.example.com", "a.b.eu.example.com", "192.0.2.8", "2001:db8::1",
        "gw.example.com.evil.org", "better-compute server"})
    CHECK(at(host) == chain_fault::name);
  CHECK(at(std::string_view{"gw.example.com\0x", 16}) == chain_fault::name);
}

TEST_CASE("chain: a node's certificate does not serve") {
  world w;
  CHECK(check_server_chain({node_leaf_of(w.ca), w.ca.certificate}, w.pin,
                           "gw.example.com") == chain_fault::name);
  // Neither does one that names the host, but is for nothing.
  auto self = make_self_signed("gw.example.com", noon).value();
  CHECK(check_server_chain({self.certificate, w.ca.certificate}, w.pin,
                           "gw.example.com") == chain_fault::signature);
}

TEST_CASE("chain: validity is judged at a given time, ends included") {
  world w;
  auto begin = noon - backdating;
  auto end = begin + std::chrono::days{90};
  CHECK(chain_valid_at(w.chain, noon));
  CHECK(chain_valid_at(w.chain, begin));
  CHECK_FALSE(chain_valid_at(w.chain, begin - milliseconds{1}));
  CHECK(chain_valid_at(w.chain, end));
  CHECK_FALSE(chain_valid_at(w.chain, end + seconds{1}));
  CHECK_FALSE(chain_valid_at({w.leaf.certificate}, noon));
  CHECK_FALSE(chain_valid_at({}, noon));
  // A leaf that outlives its CA is no better than the CA.
  issuer old_ca{w.ca.key.clone(),
                make_ca("serving CA", noon - std::chrono::days{3652})
                    .value()
                    .certificate};
  CHECK_FALSE(chain_valid_at({w.leaf.certificate, old_ca.certificate},
                             noon + std::chrono::days{1}));
}

TEST_CASE("chain: each fault has its text") {
  CHECK(chain_fault_text(chain_fault::none) == "none");
  CHECK(chain_fault_text(chain_fault::no_chain) == "no chain");
  CHECK(chain_fault_text(chain_fault::pin) == "pin");
  CHECK(chain_fault_text(chain_fault::signature) == "signature");
  CHECK(chain_fault_text(chain_fault::name) == "name");
  CHECK(chain_fault_text(chain_fault::usage) == "usage");
}
