#include "ops/serve/counted_calls.hpp"

#include <utility>

namespace bc::serve {

namespace {

std::string_view name_of(actors::daemon_request what) {
  using request = actors::daemon_request;
  if (what == request::join)
    return "join";
  if (what == request::renew)
    return "renew";
  if (what == request::boot_lease)
    return "boot lease";
  return what == request::join_challenge ? "join challenge" : "session";
}

}  // namespace

call_counts* counted_calls::counts_of(actors::daemon_request what) {
  if (what == actors::daemon_request::join)
    return &joins_;
  return what == actors::daemon_request::renew ? &renewals_ : nullptr;
}

void counted_calls::call(actors::daemon_call call,
                         std::function<void(actors::daemon_reply)> done) {
  inner_.call(std::move(call),
              [counts = counts_of(call.what), &failures = failures_,
               name = name_of(call.what), request = call.correlation,
               done = std::move(done)](actors::daemon_reply reply) {
                if (counts != nullptr)
                  counts->count(reply.status);
                failures.tell(name, reply.status, reply.body, request);
                done(std::move(reply));
              });
}

void told_api::call(actors::api_call call,
                    std::function<void(actors::api_reply)> done) {
  auto name = "api " + call.group + "." + call.method;
  auto request = call.request_id;
  inner_.call(std::move(call),
              [&failures = failures_, name = std::move(name),
               request = std::move(request),
               done = std::move(done)](actors::api_reply reply) {
                if (!reply.told)
                  failures.tell(name, reply.status, reply.body, request);
                done(std::move(reply));
              });
}

}  // namespace bc::serve
