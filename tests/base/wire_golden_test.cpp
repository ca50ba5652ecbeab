// spec: DESIGN section 7; the files of schema/wire and tests/golden/wire
#include "base/json.hpp"
#include "tests/base/session_samples.hpp"
#include "tests/base/wire_samples.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/schema.h>

#include <fstream>
#include <iterator>

using namespace bc;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in{std::string{BC_SOURCE_DIR} + "/" + path};
  REQUIRE(in.is_open());
  return {std::istreambuf_iterator<char>{in}, {}};
}

bool fits(const std::string& schema_file, const std::string& text) {
  auto schema_text = json::parse(text_of("schema/wire/" + schema_file));
  REQUIRE(schema_text);
  rapidjson::SchemaDocument schema{schema_text.value()};
  rapidjson::SchemaValidator validator{schema};
  auto doc = json::parse(text);
  REQUIRE(doc);
  return doc.value().Accept(validator);
}

struct sample {
  const char* golden;
  const char* schema;
  int status;  // 0 for what has none
  std::string text;
};

std::vector<sample> samples() {
  using namespace wire_samples;
  std::vector<sample> out = {
      {"join-request.json", "join-request.json", 0, wire::encode(request())},
      {"joined-body.json", "joined-body.json", 0, wire::encode(joined_body())},
      {"deferred-body.json", "deferred-body.json", 0,
       wire::encode(deferred_body())},
  };
  auto answer = [&out](const char* golden, const wire::join_answer& a) {
    out.push_back(
        {golden, "join-answer.json", wire::http_status(a), wire::encode(a)});
  };
  answer("joined.json", joined());
  answer("deferred.json", deferred());
  out.push_back(
      {"renew-request.json", "renew-request.json", 0, wire::encode(renewal())});
  answer("renewed.json", renewed());
  out.push_back({"boot-lease-request.json", "boot-lease-request.json", 0,
                 wire::encode(boot_lease_request())});
  out.push_back({"boot-lease-body.json", "boot-lease-body.json", 0,
                 wire::encode(boot_lease_body())});
  out.push_back({"rejoin-request.json", "join-request.json", 0,
                 wire::encode(rejoin_request())});
  out.push_back({"challenge-request.json", "challenge-request.json", 0,
                 wire::encode(challenge_request())});
  out.push_back({"challenge-body.json", "challenge-body.json", 0,
                 wire::encode(challenge_body())});
  out.push_back({"challenge-request.tpm.json", "challenge-request.json", 0,
                 wire::encode(tpm_challenge_request())});
  out.push_back({"challenge-body.tpm.json", "challenge-body.json", 0,
                 wire::encode(tpm_challenge_body())});
  out.push_back({"tpm-request.json", "join-request.json", 0,
                 wire::encode(tpm_request())});
  out.push_back({"discovery-request.json", "join-request.json", 0,
                 wire::encode(discovery_request())});
  out.push_back({"renew-request.attested.json", "renew-request.json", 0,
                 wire::encode(attested_renewal())});
  auto attested = rejoin_request();
  attested.x509pop->attestation = attestation_of_key();
  out.push_back({"rejoin-request.attested.json", "join-request.json", 0,
                 wire::encode(attested)});
  answer("challenge.json", challenge());
  answer("refused.json", refused());
  answer("renew-refused.json",
         failed(errc::access_denied, wire::renew_refused_message));
  answer("conflict.json", failed(errc::conflict, wire::concurrent_message));
  answer("invalid-config.json",
         failed(errc::invalid_config, "The join service is not configured"));
  answer("invalid-input.json", malformed());
  answer("unavailable.json",
         failed(errc::unavailable, "The journal is not writable"));
  auto from_daemon = [&out](const char* golden, const wire::from_daemon& m) {
    out.push_back({golden, "session-from-daemon.json", 0, wire::encode(m)});
  };
  from_daemon("session-hello.json", session_samples::hello());
  from_daemon("session-heartbeat.json", session_samples::heartbeat());
  from_daemon("session-result.json", session_samples::command_result());
  auto to_daemon = [&out](const char* golden, const wire::to_daemon& m) {
    out.push_back({golden, "session-to-daemon.json", 0, wire::encode(m)});
  };
  to_daemon("session-welcome.json", session_samples::welcome());
  to_daemon("session-command.json", session_samples::command());
  to_daemon("session-recorded.json", session_samples::recorded());
  out.push_back({"command-body.json", "command-body.json", 0,
                 wire::encode(session_samples::command_body())});
  return out;
}

}  // namespace

TEST_CASE("wire: the bytes of every message are as published") {
  std::string statuses;
  for (const auto& s : samples()) {
    testing::check_golden(std::string{"wire/"} + s.golden, s.text);
    if (s.status != 0)
      statuses += std::string{s.golden} + " " + std::to_string(s.status) + "\n";
  }
  statuses.pop_back();
  testing::check_golden("wire/statuses.txt", statuses);
}

TEST_CASE("wire: every message fits its schema") {
  for (const auto& s : samples()) {
    INFO(s.golden);
    CHECK(fits(s.schema, s.text));
  }
}

TEST_CASE("wire: the schemas turn away what they should") {
  auto request = wire::encode(wire_samples::request());
  auto without = [](std::string text, const std::string& part,
                    const std::string& instead) {
    auto at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), instead);
  };
  CHECK_FALSE(fits("join-request.json", "{}"));
  CHECK_FALSE(fits("join-request.json",
                   without(request, "\"protocol\":1", "\"protocol\":2")));
  CHECK_FALSE(fits("join-request.json",
                   without(request, "\"role\":\"node\"", "\"role\":\"root\"")));
  CHECK_FALSE(fits("join-request.json",
                   without(request, "USE2200001", std::string(257, 'A'))));
  CHECK(fits("join-request.json",
             without(request, "\"protocol\":1", "\"protocol\":1,\"new\":1")));
  auto tpm = wire::encode(wire_samples::tpm_request());
  CHECK_FALSE(fits("join-request.json",
                   without(tpm, "\"activation\":\"Dg", "\"activation\":\"")));
  CHECK_FALSE(
      fits("join-request.json", without(tpm, "\"ekPublic\"", "\"ekPrivate\"")));
  CHECK_FALSE(fits("challenge-request.json",
                   without(wire::encode(wire_samples::tpm_challenge_request()),
                           "\"claimsSha256\"", "\"claims\"")));
  CHECK_FALSE(fits("renew-request.json",
                   without(wire::encode(wire_samples::attested_renewal()),
                           "\"akPublic\":\"", "\"akPublic\":\"!")));
  auto joined = wire::encode(wire_samples::joined());
  CHECK_FALSE(fits("join-answer.json", without(joined, "\"status\":\"joined\"",
                                               "\"status\":\"perhaps\"")));
  auto refused = wire::encode(wire_samples::refused());
  CHECK_FALSE(
      fits("join-answer.json", without(refused, "ACCESS_DENIED", "WHO_KNOWS")));
}
