#include "actors/joining/answers.hpp"

#include <utility>

namespace bc::actors {

namespace {

bytes to_vector(const pki::raw_signature& signature) {
  return {signature.begin(), signature.end()};
}

}  // namespace

signed_text sign_answer_body(const pki::key_bundle& keys, std::string body,
                             pki::purpose purpose) {
  auto signature = pki::sign(keys.join_signing.key, purpose, {as_bytes(body)});
  return {std::move(body), to_vector(signature)};
}

wire::join_answer plain_failure(errc code, std::string message,
                                std::string path) {
  wire::join_answer answer;
  answer.code = code;
  answer.message = std::move(message);
  answer.path = std::move(path);
  return answer;
}

wire::join_answer answer_signer::failed(errc code, std::string_view message,
                                        time_point now) const {
  auto answer = plain_failure(code, std::string{message});
  sign_time(answer, now);
  return answer;
}

wire::join_answer answer_signer::joined(signed_text body,
                                        time_point now) const {
  return accepted(wire::join_answer::kind::joined, std::move(body), now);
}

wire::join_answer answer_signer::renewed(signed_text body,
                                         time_point now) const {
  return accepted(wire::join_answer::kind::renewed, std::move(body), now);
}

wire::join_answer answer_signer::deferred(signed_text body,
                                          time_point now) const {
  return accepted(wire::join_answer::kind::deferred, std::move(body), now);
}

wire::join_answer answer_signer::challenged(signed_text body,
                                            time_point now) const {
  return accepted(wire::join_answer::kind::challenge, std::move(body), now);
}

wire::join_answer answer_signer::accepted(wire::join_answer::kind what,
                                          signed_text body,
                                          time_point now) const {
  wire::join_answer answer;
  answer.what = what;
  answer.body = std::move(body.text);
  answer.signature = std::move(body.signature);
  sign_time(answer, now);
  return answer;
}

void answer_signer::sign_time(wire::join_answer& answer, time_point now) const {
  wire::server_time time;
  time.time_ms = to_millis(now);
  auto text = std::to_string(time.time_ms);
  time.signature =
      to_vector(pki::sign(keys_.join_signing.key, pki::purpose::server_time,
                          {as_bytes(text), csr_}));
  answer.signing_key = keys_.join_signing.key.pub().spki();
  answer.time = std::move(time);
}

}  // namespace bc::actors
