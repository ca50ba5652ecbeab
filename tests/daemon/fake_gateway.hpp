#pragma once

#include "base/wire.hpp"
#include "daemon/join.hpp"
#include "pki/bundle.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"
#include "pki/signature.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <vector>

/// A join service that answers as told, with real keys and signatures.
class fake_gateway {
 public:
  static constexpr std::string_view site = "site_01k5w000000000000000000000";
  static constexpr std::string_view node = "node_01k5w000000000000000000000";
  static constexpr std::string_view token =
      "bcjt_jt_01k5w000000000000000000000."
      "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE";
  static constexpr std::string_view domain = "compute.example.com";

  const bc::time_point start = bc::from_millis(1'764'000'000'000);
  bc::manual_clock clock{start};
  bc::pki::key_bundle keys = bc::pki::make_bundle(domain, start).value();
  bc::pki::issuer server =
      bc::pki::issue_server_certificate(
          keys.serving_ca, {"gw.example.com", "localhost", "127.0.0.1"}, start)
          .value();

  /// What was received, in order.
  std::vector<bc::wire::join_request> requests;
  std::vector<bc::milliseconds> waits;
  /// The next answers; when empty, `joined`.
  std::vector<std::function<bc::daemon::exchange(
      fake_gateway&, const bc::wire::join_request&)>>
      script;

  bc::daemon::config config(const temporary_folder& folder) const {
    auto pins = bc::pki::pins_of(keys);
    write_text(folder / "join-encryption.jwk",
               bc::pki::to_jwk(keys.join_encryption.pub()));
    return {"https://gw.example.com",
            std::string{site},
            pins.serving_ca,
            pins.join_signing,
            pins.join_encryption,
            folder / "data",
            folder / "join-encryption.jwk"};
  }

  bc::daemon::join_options options() {
    bc::daemon::join_options o;
    o.time = &clock;
    o.wait = [this](bc::milliseconds t) { waits.push_back(t); };
    o.send = [this](std::string_view body) {
      auto request = bc::wire::decode_join_request(body);
      REQUIRE(request);
      requests.push_back(request.value());
      if (script.empty())
        return answered(joined(request.value()));
      auto next = script.front();
      script.erase(script.begin());
      return next(*this, requests.back());
    };
    return o;
  }

  /// Of every key that is trusted, as an answer names them.
  std::vector<std::string> pins(bc::pki::key_name which) const {
    std::vector<std::string> out;
    for (const auto& key : bc::pki::public_keys_of(keys, which))
      out.push_back(key.pin());
    return out;
  }

  std::vector<bc::bytes> chain() const {
    return {server.certificate, keys.serving_ca.certificate};
  }

  bc::daemon::exchange answered(const bc::wire::join_answer& answer) const {
    return {bc::daemon::exchange::fate::answered, bc::wire::http_status(answer),
            bc::wire::encode(answer), chain(), ""};
  }

  bc::wire::joined_body joined_body(
      const bc::wire::join_request& request,
      bc::pki::certificate_role role = bc::pki::certificate_role::node) const {
    auto csr = bc::pki::parse_csr(request.csr).value();
    bc::pki::node_certificate_request wanted{csr.key,
                                             std::string{domain},
                                             std::string{site},
                                             std::string{node},
                                             role,
                                             {},
                                             start,
                                             bc::pki::max_node_lifetime,
                                             {9, 9, 9}};
    auto leaf = bc::pki::issue_node_certificate(keys.node_ca, wanted);
    auto digest = bc::pki::sha256(request.csr);
    return {std::string{node},
            {leaf.der, keys.node_ca.certificate},
            {keys.command_signing.pub().spki()},
            {digest.begin(), digest.end()},
            std::string{domain},
            std::string{site},
            std::string{bc::pki::role_text(role)},
            bc::to_millis(leaf.not_after),
            pins(bc::pki::key_name::serving_ca),
            pins(bc::pki::key_name::join_signing)};
  }

  bc::wire::join_answer signed_answer(bc::wire::join_answer::kind what,
                                      std::string body,
                                      const bc::wire::join_request& request) {
    bc::wire::join_answer a;
    a.what = what;
    a.body = std::move(body);
    auto sig =
        bc::pki::sign(keys.join_signing.key, bc::pki::purpose::join_response,
                      {bc::as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    add_time(a, request.csr);
    return a;
  }

  bc::wire::join_answer joined(const bc::wire::join_request& request) {
    return signed_answer(bc::wire::join_answer::kind::joined,
                         bc::wire::encode(joined_body(request)), request);
  }

  bc::wire::join_answer failed(bc::errc code,
                               const bc::wire::join_request& request,
                               std::string message = "no") {
    bc::wire::join_answer a;
    a.code = code;
    a.message = std::move(message);
    add_time(a, request.csr);
    return a;
  }

  void add_time(bc::wire::join_answer& a, const bc::bytes& csr) const {
    auto ms = bc::to_millis(start);
    auto digest = bc::pki::sha256(csr);
    auto sig =
        bc::pki::sign(keys.join_signing.key, bc::pki::purpose::server_time,
                      {bc::as_bytes(std::to_string(ms)), digest});
    a.signing_key = keys.join_signing.key.pub().spki();
    a.time = bc::wire::server_time{ms, {sig.begin(), sig.end()}};
  }
};

/// A machine with plain hardware, or one that cannot be read.
class fake_machine final : public bc::daemon::hardware_source {
 public:
  bool readable = true;
  bc::result<bc::pki::hardware_claims> read() override {
    if (!readable)
      return bc::fail(bc::errc::invalid_state,
                      "need root to read hardware identifiers");
    bc::pki::hardware_claims c;
    c.product_uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
    c.product_serial = "USE2200001";
    c.macs = {"3c:ec:ef:00:00:01"};
    c.hostname = "host-1";
    return c;
  }
};
