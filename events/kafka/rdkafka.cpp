#include "events/kafka/rdkafka.hpp"

#include <array>

namespace bc::events::kafka {

namespace {

errc code_of(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
      return errc::invalid_config;
    default:
      return errc::unavailable;
  }
}

void on_error(rd_kafka_t*, int code, const char* reason, void* opaque) {
  auto& state = *static_cast<client_state*>(opaque);
  // "All brokers are down" hides the reason that came before it.
  if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || state.last_said().empty())
    state.said(reason);
}

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  static_cast<client_state*>(opaque)->delivered(*message);
}

rd_kafka_resp_err_t on_request(rd_kafka_t*, int, const char*, std::int32_t,
                               std::int16_t api_key, std::int16_t, std::int32_t,
                               std::size_t, void* opaque) {
  static_cast<client_state*>(opaque)->request_sent(api_key);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t on_new(rd_kafka_t* made, const rd_kafka_conf_t*,
                           void* opaque, char*, std::size_t) {
  return rd_kafka_interceptor_add_on_request_sent(made, "better-compute",
                                                  on_request, opaque);
}

// A value that may be a secret is not repeated.
std::string not_accepted(const std::string& name, const char* why) {
  for (auto secret : {"password", "pem", "secret", "oauthbearer"})
    if (name.find(secret) != std::string::npos)
      return "Kafka property " + name + " is not accepted";
  return "Kafka property " + name + ": " + why;
}

}  // namespace

fault kafka_fault(rd_kafka_resp_err_t code, const std::string& what,
                  const std::string& why) {
  auto text = "Kafka: " + what + ": " + rd_kafka_err2str(code);
  if (!why.empty())
    text += " (" + why + ")";
  return fail(code_of(code), std::move(text), {}, rd_kafka_err2name(code));
}

fault kafka_fault(const error_owner& error, const std::string& what) {
  return kafka_fault(rd_kafka_error_code(error.get()), what,
                     rd_kafka_error_string(error.get()));
}

void client_state::said(std::string why) {
  std::lock_guard lock{mutex_};
  last_said_ = std::move(why);
}

std::string client_state::last_said() const {
  std::lock_guard lock{mutex_};
  return last_said_;
}

result<handle_owner> make_handle(rd_kafka_type_t type, const properties& from,
                                 client_state& state) {
  owner<rd_kafka_conf_t, rd_kafka_conf_destroy> conf{rd_kafka_conf_new()};
  std::array<char, 512> why{};
  for (const auto& [name, value] : from)
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why.data(),
                          why.size()) != RD_KAFKA_CONF_OK)
      return fail(errc::invalid_config, not_accepted(name, why.data()));
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  rd_kafka_conf_set_opaque(conf.get(), &state);
  if (type == RD_KAFKA_PRODUCER) {
    rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
    rd_kafka_conf_interceptor_add_on_new(conf.get(), "better-compute", on_new,
                                         &state);
  }
  auto* made = rd_kafka_new(type, conf.get(), why.data(), why.size());
  if (made == nullptr)
    return fail(errc::invalid_config, std::string{"Kafka: "} + why.data());
  // The handle has taken it.
  static_cast<void>(conf.release());
  return handle_owner{made};
}

}  // namespace bc::events::kafka
