#pragma once

#include "events/refusal_reason.hpp"
#include "tests/actors/discovery_world.hpp"

namespace bc::test {

/// One machine that would be admitted, by its vouch and its token.
struct refusal_world : discovery_world {
  refusal_world() {
    discovery->approval = actors::discovery_approval::never;
    discovery->pools = {{site, pool}};
  }

  using change_vouch = std::function<void(pki::vouch::claims&)>;

  /// The good request but for what is changed before it is vouched for.
  [[nodiscard]] wire::join_request good(
      const std::function<void(wire::join_request&)>& change = {},
      const change_vouch& says = {}, const site_agent* by = nullptr) const {
    auto r = ask(m);
    if (change)
      change(r);
    r.discovery->sealed_token = seal_for(r, token.text());
    r.discovery->vouch = vouch_for(r, mac_of(1), by != nullptr ? *by : a, says);
    return r;
  }

  /// It is refused so with the one answer, and nothing is spent; the owner
  /// alone is told what was compared.
  void check(const wire::join_request& r, events::refusal_reason reason,
             const tenant_id& whose) {
    const auto before = head();
    auto t = join(r);
    check_refused(*this, t, before, reason, whose);
    REQUIRE(t.reports.size() == 1);
    const auto& report = t.reports.front();
    CHECK(report.attestor == "discovery");
    CHECK(report.role == r.role);
    CHECK(without_time(t.answer) == one_answer());
    CHECK(uses_left(token) == 1);
    if (whose == root)
      CHECK(report.token.empty());
    CHECK((report.details == "{}") == (whose == root));
    CHECK(report.details.find(token.secret) == std::string::npos);
  }
  std::string one_answer() {
    if (answer_.empty()) {
      auto r = ask(m);
      r.role = "node";
      answer_ = without_time(join(r).answer);
    }
    return answer_;
  }

  machine m = ramdisk(1);
  minted token = discovery_token(1);

 private:
  std::string answer_;
};

}  // namespace bc::test
