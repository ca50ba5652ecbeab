// Certificates that end are told before they do.
#include "ops/serve/expiry.hpp"
#include "pki/internal.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using std::chrono::days;

namespace {

struct world {
  time_point now = std::chrono::floor<seconds>(bc::system_clock{}.now());
  pki::key_bundle keys = pki::make_bundle("compute.example.com", now).value();
  std::string internal_pem = pki::certificate_pem(
      pki::issue_internal_certificate(keys.internal_ca,
                                      pki::internal_role::gateway, {}, now)
          .value()
          .certificate);
};

}  // namespace

TEST_CASE("expiry: the first certificate of a chain counts", "[ops]") {
  world w;
  auto ca = pki::certificate_pem(w.keys.internal_ca.certificate);
  auto found = serve::dated("internal", "# text\n" + w.internal_pem + ca);
  REQUIRE(found);
  CHECK(found.value().not_after ==
        w.now - pki::backdating + pki::internal_lifetime);
  auto none = serve::dated("internal", "-----BEGIN CERTIFICATE-----\n");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::invalid_config);
  CHECK(none.error().message.starts_with("internal: "));
  CHECK_FALSE(serve::dated("internal", ""));
}

TEST_CASE("expiry: the log warns two weeks before, and after", "[ops]") {
  world w;
  std::vector all{serve::dated("internal", w.internal_pem).value()};
  auto end = all.front().not_after;
  CHECK(serve::expiry_warnings(all, end - days{14}).empty());
  auto soon = serve::expiry_warnings(all, end - days{14} + seconds{1});
  REQUIRE(soon.size() == 1);
  CHECK(soon.front().starts_with("certificate internal ends at "));
  auto late = serve::expiry_warnings(all, end);
  REQUIRE(late.size() == 1);
  CHECK(late.front().starts_with("certificate internal ended at "));
}

TEST_CASE("expiry: authorities warn earlier, and all are metrics", "[ops]") {
  world w;
  auto all = serve::dated(w.keys);
  REQUIRE(all);
  REQUIRE(all.value().size() == 4);
  auto end = all.value().front().not_after;
  CHECK(serve::expiry_warnings(all.value(), end - days{91}).empty());
  CHECK_FALSE(serve::expiry_warnings(all.value(), end - days{89}).empty());
  auto text = serve::expiry_metrics(all.value());
  CHECK(text.find("\nbetter_compute_certificate_not_after_seconds{certificate="
                  "\"node_ca\"} " +
                  std::to_string(to_millis(end) / 1000) + "\n") !=
        std::string::npos);
  CHECK(serve::expiry_metrics({}).empty());
}
