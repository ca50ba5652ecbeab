#include "daemon/gateway_client.hpp"
#include "events/kafka/cluster.hpp"
#include "gateway/http_client.hpp"
#include "ops/cli/doctor.hpp"
#include "pki/certificate.hpp"

namespace bc::cli {

namespace {

constexpr int http_ok = 200;
constexpr int http_bad_request = 400;
// What no join service can take for a join: it is answered and leaves no trace.
constexpr std::string_view no_join = "{}";

finding skipped(const char* check, std::string why) {
  return {check, verdict::skipped, std::move(why), {}};
}

finding look_at_api(const patient& p) {
  constexpr auto* check = "api";
  if (p.api_url.empty())
    return skipped(check, "not given: --url");
  gateway::client_options options{p.api_url, p.ca_file, seconds{10}};
  auto answer = gateway::send_request(options, "GET", "/readyz", {}, {});
  if (!answer)
    return {check, verdict::failed, answer.error().message,
            "is the server running at this URL, and is --ca-file its CA?"};
  if (answer.value().status != http_ok)
    return {check, verdict::failed,
            p.api_url + " is not ready (HTTP " +
                std::to_string(answer.value().status) +
                "): " + answer.value().body.substr(0, 300),
            "see the server's log"};
  return {check, verdict::ok, p.api_url + " is ready", {}};
}

// Through the gateway to a join service and back, as a machine would come.
void look_at_gateway(findings& out, const patient& p, const clock& time) {
  constexpr auto* check = "gateway";
  if (p.gateway_url.empty())
    return out.push_back(skipped(check, "not given: --gateway"));
  if (p.serving_ca_pin.empty())
    return out.push_back(skipped(
        check, "no pin: give --serving-ca-pin, or --store and the secret"));
  daemon::config machine;
  machine.gateway_url = p.gateway_url;
  machine.serving_ca_spki_pin = p.serving_ca_pin;
  auto reply = daemon::post_join(machine, no_join);
  using fate = daemon::exchange::fate;
  if (reply.what != fate::answered)
    return out.push_back(
        {check, verdict::failed, reply.why,
         reply.what == fate::untrusted
             ? "give the gateway a certificate of this deployment's serving CA "
               "with its name: better-compute pki issue-gateway"
             : "is the gateway running, and does the network let machines "
               "reach it?"});
  if (reply.status != http_bad_request)
    out.push_back({check, verdict::failed,
                   "the gateway answers, but no join service behind it (HTTP " +
                       std::to_string(reply.status) + ")",
                   "check the gateway's API addresses and the relay listener "
                   "of the servers"});
  else
    out.push_back(
        {check, verdict::ok, p.gateway_url + " reaches a join service", {}});
  if (reply.chain.empty())
    return;
  if (auto leaf =
          serve::dated("gateway", pki::certificate_pem(reply.chain.front())))
    out.push_back(expiry_finding(leaf.value(), time.now()));
}

finding look_at_kafka(const patient& p) {
  constexpr auto* check = "kafka";
  if (p.kafka.empty())
    return skipped(check, "not configured: events come by the API alone");
  auto servers = p.kafka.find("bootstrap.servers");
  auto where = servers == p.kafka.end() ? std::string{} : servers->second;
  const std::string advice =
      "joins go on without Kafka and the publisher catches up; check brokers, "
      "network and the credentials for Kafka";
  auto cluster = events::kafka::cluster::connect(p.kafka);
  if (!cluster)
    return {check, verdict::failed, cluster.error().message, advice};
  std::string missing;
  for (const auto& topic : p.topics) {
    auto partitions = cluster.value()->partitions_of(topic);
    if (!partitions)
      return {check, verdict::failed, partitions.error().message, advice};
    if (!partitions.value())
      missing += (missing.empty() ? "" : ", ") + topic;
  }
  if (!missing.empty())
    return {check, verdict::warning, where + " has no topic " + missing,
            "the publisher makes them at its first start"};
  return {check, verdict::ok, where + " answers", {}};
}

}  // namespace

findings examine_network(const patient& p, const clock& time) {
  findings out;
  out.push_back(look_at_api(p));
  look_at_gateway(out, p, time);
  out.push_back(look_at_kafka(p));
  return out;
}

}  // namespace bc::cli
