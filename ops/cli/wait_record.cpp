#include "ops/cli/wait_record.hpp"

#include "ops/cli/server.hpp"

#include <chrono>
#include <thread>

namespace bc::cli {

namespace {

constexpr std::chrono::milliseconds pause{500};
// A server that restarts meanwhile is not the end of the wait.
constexpr int most_failures = 20;

std::string text_at(const json::document& record, std::string_view field) {
  auto text = json::reader{record}.text(field);
  return text ? text.value() : std::string{};
}

std::string input_for(const context& ctx, const pending_record& how,
                      const json::document& record) {
  json::writer out;
  out.begin_object().field("tenantId", ctx.tenant);
  for (const auto& [field, from] : how.input)
    out.field(field, text_at(record, from));
  return out.end_object().str();
}

bool is_passing(const call_failure& f) {
  return f.why.code == errc::unavailable || f.exit_code == unreachable;
}

}  // namespace

std::optional<json::document> wait_for_end(context& ctx, std::string_view group,
                                           const pending_record& how,
                                           json::document record) {
  const auto input = input_for(ctx, how, record);
  int failures = 0;
  while (text_at(record, "status") == "pending") {
    std::this_thread::sleep_for(pause);
    call_failure why;
    auto next = try_call(ctx, group, how.method, input, why);
    if (next) {
      record = std::move(*next);
      failures = 0;
    } else if (!is_passing(why) || ++failures == most_failures) {
      report(ctx, why.why, why.exit_code);
      return std::nullopt;
    }
  }
  if (text_at(record, "status") != "succeeded")
    ctx.exit_code = refused;
  return record;
}

}  // namespace bc::cli
