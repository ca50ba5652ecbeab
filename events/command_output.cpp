#include "events/command_output.hpp"

#include "base/json.hpp"

#include <algorithm>

namespace bc::events {

namespace {

constexpr std::string_view too_late = "expired";
constexpr std::string_view cut_short = "interrupted";

using names = std::vector<std::string>;

names checks_in(std::string_view payload) {
  auto read = json::parse_object(payload);
  if (!read)
    return {};
  auto checks = json::reader{read.value()}.texts_or_none("checks");
  return checks ? std::move(checks).value() : names{};
}

// nullopt: it contradicts itself, or is none.
std::optional<names> failed_in(const json::reader& output) {
  auto passed = output.boolean("passed");
  auto failed = output.texts_or_none("failed");
  if (!passed || !failed || passed.value() != failed.value().empty())
    return std::nullopt;
  return std::move(failed).value();
}

names both(const names& asked, const names& named) {
  names out;
  std::ranges::copy_if(asked, std::back_inserter(out), [&](const auto& one) {
    return std::ranges::find(named, one) != named.end();
  });
  return out;
}

}  // namespace

std::optional<wire::claims> claims_in(std::string_view output) {
  auto read = json::parse_object(output);
  if (!read)
    return std::nullopt;
  auto object = json::reader{read.value()}.object("claims");
  if (!object)
    return std::nullopt;
  auto claims = wire::decode_claims(json::to_text(object.value().raw()));
  if (!claims)
    return std::nullopt;
  return std::move(claims).value();
}

std::string acceptance_payload(const std::vector<std::string>& checks) {
  json::writer out;
  out.begin_object().field("checks", checks).end_object();
  return out.str();
}

bool was_not_run(bool succeeded, std::string_view output) {
  if (succeeded)
    return false;
  auto read = json::parse_object(output);
  if (!read)
    return false;
  auto error = json::reader{read.value()}.optional_text("error");
  return error && (error.value() == too_late || error.value() == cut_short);
}

std::optional<names> failed_checks(std::string_view payload, bool succeeded,
                                   std::string_view output) {
  if (was_not_run(succeeded, output))
    return std::nullopt;
  const auto asked = checks_in(payload);
  auto read = json::parse_object(output);
  if (!read)
    return asked;
  if (!succeeded)
    return asked;
  auto failed = failed_in(json::reader{read.value()});
  if (!failed)
    return asked;
  if (failed->empty())
    return names{};
  auto known = both(asked, *failed);
  return known.empty() ? asked : known;
}

}  // namespace bc::events
