#include "base/json.hpp"
#include "events/directory.hpp"

#include <algorithm>
#include <array>

namespace bc::events::pool {

namespace {

constexpr std::array<std::string_view, 4> attestors = {"join-token", "tpm",
                                                       "discovery", "x509pop"};

}  // namespace

bool is_attestor(std::string_view name) noexcept {
  return std::find(attestors.begin(), attestors.end(), name) != attestors.end();
}

bool admits_attestor(const policy& p, std::string_view attestor) {
  const auto& listed = p.join_attestors;
  return listed.empty() ||
         std::find(listed.begin(), listed.end(), attestor) != listed.end();
}

void put(json::writer& out, const policy& p) {
  out.begin_object();
  if (!p.join_attestors.empty())
    out.field("joinAttestors", p.join_attestors);
  if (p.platform_operated)
    out.key("kubernetes")
        .begin_object()
        .field("platformOperated", true)
        .end_object();
  if (!p.acceptance_checks.empty())
    out.key("acceptance")
        .begin_object()
        .field("checks", p.acceptance_checks)
        .end_object();
  out.end_object();
}

result<policy> read_policy(const json::reader& in) {
  policy p;
  BC_TRY(listed, in.texts_or_none("joinAttestors"));
  p.join_attestors = std::move(listed);
  if (in.has("kubernetes")) {
    BC_TRY(kubernetes, in.object("kubernetes"));
    BC_TRY(operated, kubernetes.boolean_or("platformOperated", false));
    p.platform_operated = operated;
  }
  if (in.has("acceptance")) {
    BC_TRY(acceptance, in.object("acceptance"));
    BC_TRY(checks, acceptance.texts_or_none("checks"));
    p.acceptance_checks = std::move(checks);
  }
  return p;
}

}  // namespace bc::events::pool
