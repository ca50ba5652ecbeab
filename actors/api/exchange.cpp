#include "actors/api/exchange.hpp"

#include "actors/api/read_models.hpp"
#include "base/encoding.hpp"
#include "events/actor.hpp"
#include "pki/digest.hpp"

#include <spdlog/spdlog.h>

namespace bc::actors::api {

namespace {

constexpr std::size_t max_text = 300;
constexpr int max_tries = 3;

// A message may repeat what the caller sent: cut, at a whole character.
std::string shortened(std::string_view text) {
  if (text.size() <= max_text)
    return std::string{text};
  auto cut = text.substr(0, max_text);
  while (!cut.empty() && !is_utf8(cut))
    cut.remove_suffix(1);
  return std::string{cut} + "…";
}

std::string error_body(errc code, std::string_view message,
                       std::string_view path, std::string_view request_id) {
  auto where = shortened(path);
  auto what = shortened(message);
  json::writer out;
  out.begin_object().key("error").begin_object();
  out.field("code", wire_text(code))
      .field("message", where.empty() ? what : where + " " + what);
  if (!where.empty()) {
    out.key("details").begin_array().begin_object();
    out.field("path", where).field("message", what);
    out.end_object().end_array();
  }
  out.field("requestId", request_id).end_object().end_object();
  return out.str();
}

}  // namespace

exchange::exchange(std::shared_ptr<const api_environment> environment,
                   std::shared_ptr<ledger> ledger_of_streams, api_call raw,
                   std::function<void(api_reply)> done)
    : env(std::move(environment)),
      streams(std::move(ledger_of_streams)),
      call(std::move(raw)),
      done_(std::move(done)) {}

void exchange::reply(int status, std::string body, bool told) {
  if (auto done = std::exchange(done_, nullptr))
    done({status, std::move(body), told});
}

void exchange::answer(std::string json) {
  reply(200, std::move(json));
}

void exchange::refuse(const fault& why) {
  if (why.code == errc::access_denied)
    spdlog::info("api: {} denied to {} of {} ({})",
                 call.group + "." + call.method, who.principal,
                 who.tenant.str(), call.request_id);
  reply(http_status(why.code),
        error_body(why.code, why.message, why.path, call.request_id));
}

void exchange::refuse(errc code, std::string message) {
  refuse(fail(code, std::move(message)));
}

void exchange::refuse_size() {
  reply(413, error_body(errc::invalid_input, "The body is over 256 KiB", {},
                        call.request_id));
}

void exchange::break_off(const fault& why) {
  spdlog::error("api: {} failed: {} {} ({})", call.group + "." + call.method,
                why.message, why.detail, call.request_id);
  auto code =
      why.code == errc::unavailable ? errc::unavailable : errc::internal;
  auto message = code == errc::unavailable
                     ? "The service cannot do this now; retry"
                     : "The service failed; the request id is in its log";
  reply(http_status(code), error_body(code, message, {}, call.request_id),
        true);
}

events::batch exchange::new_batch() const {
  events::batch b;
  b.id = pki::mint<batch_id>(streams->now());
  b.actor = events::actor_text(who.tenant, who.credential, who.principal);
  b.correlation = call.request_id;
  return b;
}

void exchange::wrote(std::uint64_t position) const {
  if (env->models)
    env->models->wrote(who.tenant.str(), who.principal, position);
}

void exchange::retry(const std::function<void()>& again) {
  if (tries_++ < max_tries)
    return again();
  refuse(errc::unavailable, "What this rests on keeps changing; retry");
}

void append(exchange_ptr x, events::batch b,
            std::function<void(std::uint64_t)> written,
            std::function<void()> again) {
  auto* streams = x->streams.get();
  streams->append(
      std::move(b),
      then(x, [x, written = std::move(written),
               again = std::move(again)](events::append_outcome outcome) {
        if (auto* done = std::get_if<events::appended>(&outcome)) {
          auto position = done->events.back().position;
          x->wrote(position);
          return written(position);
        }
        const auto& no = std::get<events::rejected>(outcome);
        if (no.why == events::unmet::claim && no.subject.starts_with("name:"))
          return x->refuse(
              fail(errc::already_exists, "is taken already", "/name"));
        x->retry(again);
      }));
}

void confirm(exchange_ptr x, events::batch preconditions,
             std::function<void(std::uint64_t)> held,
             std::function<void()> again) {
  auto* streams = x->streams.get();
  streams->append(std::move(preconditions),
                  then(x, [x, held = std::move(held), again = std::move(again)](
                              events::append_outcome outcome) {
                    if (std::holds_alternative<events::rejected>(outcome))
                      return x->retry(again);
                    x->streams->head(then(x, [x, held](events::head_row head) {
                      x->wrote(head.position);
                      held(head.position);
                    }));
                  }));
}

void refuse_confirmed(exchange_ptr x, events::batch preconditions,
                      const fault& why, std::function<void()> again) {
  auto* streams = x->streams.get();
  streams->append(std::move(preconditions),
                  then(x, [x, why, again = std::move(again)](
                              const events::append_outcome& outcome) {
                    if (std::holds_alternative<events::rejected>(outcome))
                      return x->retry(again);
                    x->refuse(why);
                  }));
}

}  // namespace bc::actors::api
