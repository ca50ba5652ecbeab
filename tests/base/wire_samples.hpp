#pragma once

#include "base/wire.hpp"
#include "base/wire_boot_lease.hpp"
#include "base/wire_renew.hpp"

/// One message of each kind of the daemon protocol, with made-up bytes.
namespace wire_samples {

using namespace bc;

inline bytes filled(std::size_t size, std::uint8_t value) {
  return bytes(size, value);
}

inline wire::join_request request() {
  return {"",
          "node",
          "site_01k5w000000000000000000000",
          filled(6, 0x30),
          {"6f9619ff-8b86-d011-b42d-00cf4fc964ff",
           "USE2200001",
           "BOARD-77",
           "CHASSIS-7",
           {"3c:ec:ef:00:00:01", "3c:ec:ef:00:00:02"},
           {"GPU-0123abcd-0123-0123-0123-0123456789ab"},
           "rack7-u12"},
          "aGVhZGVy.a2V5.aXY.dGV4dA.dGFn"};
}

inline wire::joined_body joined_body() {
  return {"node_01k5w000000000000000000000",
          {filled(4, 0x01), filled(4, 0x02)},
          {filled(4, 0x03)},
          filled(32, 0xaa),
          "compute.example.com",
          "site_01k5w000000000000000000000",
          "node",
          1'764'086'400'000};
}

inline wire::deferred_body deferred_body() {
  return {"jreq_01k5w000000000000000000000", 30, filled(32, 0xaa)};
}

inline wire::boot_lease_request boot_lease_request() {
  return {"node_01k5w000000000000000000000", "site_01k5w000000000000000000000",
          true};
}

inline wire::boot_lease_body boot_lease_body() {
  return {true, 7, 1'764'000'120'000, "node_01k5w000000000000000000000"};
}

inline void add_time(wire::join_answer& answer) {
  answer.signing_key = filled(4, 0x05);
  answer.time = wire::server_time{1'764'000'000'000, filled(64, 0x06)};
}

inline wire::join_answer accepted(wire::join_answer::kind what,
                                  std::string body) {
  wire::join_answer a;
  a.what = what;
  a.body = std::move(body);
  a.signature = filled(64, 0x07);
  add_time(a);
  return a;
}

inline wire::join_answer joined() {
  return accepted(wire::join_answer::kind::joined, wire::encode(joined_body()));
}

inline wire::renew_request renewal() {
  return {"node_01k5w000000000000000000000",
          filled(6, 0x30),
          {filled(4, 0x01), filled(4, 0x02)},
          1'764'000'000'000,
          filled(64, 0x08)};
}

inline wire::join_answer renewed() {
  return accepted(wire::join_answer::kind::renewed,
                  wire::encode(joined_body()));
}

inline wire::challenge_request challenge_request() {
  return {"x509pop", filled(32, 0xaa), filled(6, 0x01)};
}

inline wire::challenge_body challenge_body() {
  return {"sha256/AAAA", filled(16, 0x0a), 1'764'000'120'000, filled(32, 0x0b),
          filled(32, 0xaa)};
}

inline wire::join_answer challenge() {
  return accepted(wire::join_answer::kind::challenge,
                  wire::encode(challenge_body()));
}

/// A join by the node's own expired certificate.
inline wire::join_request rejoin_request() {
  auto r = request();
  r.attestor = "x509pop";
  r.node_id = "node_01k5w000000000000000000000";
  r.sealed_token.reset();
  r.x509pop = wire::x509pop_evidence{{filled(4, 0x01), filled(4, 0x02)},
                                     "sha256/AAAA",
                                     filled(16, 0x0a),
                                     1'764'000'120'000,
                                     filled(64, 0x08)};
  return r;
}

inline wire::key_attestation attestation_of_key() {
  return {filled(5, 0x11), filled(6, 0x12), filled(7, 0x13), filled(8, 0x14)};
}

inline wire::renew_request attested_renewal() {
  auto r = renewal();
  r.attestation = attestation_of_key();
  return r;
}

inline wire::challenge_request tpm_challenge_request() {
  wire::challenge_request r{"tpm", filled(32, 0xaa)};
  r.tpm = {filled(4, 0x10), filled(5, 0x11), filled(32, 0xcc)};
  return r;
}

inline wire::challenge_body tpm_challenge_body() {
  auto b = challenge_body();
  b.payload = filled(9, 0x0c);
  b.encrypted_secret = filled(10, 0x0d);
  b.claims_sha256 = filled(32, 0xcc);
  return b;
}

/// A join by a TPM, with all that may be sent.
inline wire::join_request tpm_request() {
  auto r = request();
  r.attestor = "tpm";
  r.sealed_token.reset();
  const auto key = attestation_of_key();
  r.tpm = wire::tpm_evidence{"sha256/AAAA",
                             filled(16, 0x0a),
                             1'764'000'120'000,
                             filled(32, 0x0e),
                             filled(4, 0x10),
                             filled(6, 0x15),
                             {filled(4, 0x16), filled(4, 0x17)},
                             key.ak_public,
                             key.node_key_public,
                             key.certify_info,
                             key.signature};
  return r;
}

/// A ramdisk's, that its site agent vouches for.
inline wire::join_request discovery_request() {
  auto r = request();
  r.attestor = "discovery";
  r.role = "ramdisk";
  r.discovery = wire::discovery_evidence{"aGVhZA.cGF5bG9hZA.c2lnbg",
                                         std::move(r.sealed_token)};
  r.sealed_token.reset();
  return r;
}

inline wire::join_answer deferred() {
  return accepted(wire::join_answer::kind::deferred,
                  wire::encode(deferred_body()));
}

inline wire::join_answer failed(errc code, std::string_view message) {
  wire::join_answer a;
  a.code = code;
  a.message = message;
  add_time(a);
  return a;
}

inline wire::join_answer refused() {
  return failed(errc::access_denied, wire::refused_message);
}

inline wire::join_answer malformed() {
  auto a = failed(errc::invalid_input, "must be base64");
  a.path = "/csr";
  a.signing_key.clear();
  a.time.reset();
  return a;
}

}  // namespace wire_samples
