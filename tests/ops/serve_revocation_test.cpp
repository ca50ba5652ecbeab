// The revocation lists of a server (RFC 5280 section 5); docs/nodes.md.
#include "base/encoding.hpp"
#include "ops/serve/revocation.hpp"
#include "pki/crl.hpp"
#include "pki/pem.hpp"
#include "pki/rotation.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace bc;
using projections::revocation_row;
using projections::revoked_row;

namespace {

time_point at(const char* text) {
  return from_rfc3339(text).value();
}

const auto noon = at("2026-11-30T12:00:00Z");

struct issued {
  pki::issued_certificate leaf;
  [[nodiscard]] revoked_row revoked(const std::string& why) const {
    return {leaf.serial, noon, why, to_base64(leaf.der)};
  }
};

issued issue(const pki::issuer& ca, std::uint8_t salt) {
  auto key = pki::private_key::generate();
  pki::node_certificate_request r{key.pub(),
                                  "compute.example.com",
                                  "site_" + std::string(26, '0'),
                                  "node_" + std::string(26, '0'),
                                  pki::certificate_role::node,
                                  {},
                                  system_clock{}.now(),
                                  pki::max_node_lifetime,
                                  {}};
  r.serial_random.fill(salt);
  return {pki::issue_node_certificate(ca, r)};
}

/// The last line of what a command printed, and how it ended.
std::pair<std::string, int> run(const std::string& command) {
  auto* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char piece[256];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr)
    out += piece;
  return {out, ::pclose(pipe)};
}

std::string crl_pem(const std::string& der) {
  std::string out = "-----BEGIN X509 CRL-----\n";
  const auto text = to_base64(as_bytes(der));
  for (std::size_t i = 0; i < text.size(); i += 64)
    out += text.substr(i, 64) + "\n";
  return out + "-----END X509 CRL-----\n";
}

/// What OpenSSL's command says of a certificate under a CA and a list.
std::pair<std::string, int> verify(const temporary_folder& dir, const bytes& ca,
                                   const std::string& crl_der,
                                   const bytes& leaf) {
  auto file = [&](const char* name, const std::string& text) {
    auto path = (dir / name).string();
    write_text(path, text);
    return path;
  };
  return run("openssl verify -crl_check -purpose sslclient -CAfile " +
             file("ca.pem", pki::certificate_pem(ca)) + " -CRLfile " +
             file("list.pem", crl_pem(crl_der)) + " " +
             file("leaf.pem", pki::certificate_pem(leaf)));
}

std::uint64_t number_of(std::uint64_t half_day, std::uint64_t position) {
  return (half_day << 43) | position;
}

/// Read models with revocations.
class revoking_queries final : public test::sample_queries {
 public:
  result<std::optional<revocation_row>> last_revocation() override {
    std::lock_guard lock{mutex};
    if (away)
      return fail(errc::unavailable, "the store is away");
    return last;
  }
  result<std::vector<revoked_row>> revoked_certificates(
      time_point ends_after, std::uint64_t position) override {
    std::lock_guard lock{mutex};
    asked_for = {ends_after, position};
    return rows;
  }

  std::mutex mutex;
  bool away = false;
  std::optional<revocation_row> last;
  std::vector<revoked_row> rows;
  std::pair<time_point, std::uint64_t> asked_for;
};

}  // namespace

TEST_CASE("revocation: editions rise with revocations and half days", "[ops]") {
  const auto half = at("2026-11-30T12:00:00Z");
  const std::uint64_t n =
      static_cast<std::uint64_t>(half.time_since_epoch() / milliseconds{1}) /
      43'200'000;
  auto none = serve::edition_at({}, half + seconds{100});
  CHECK(none.number == number_of(n, 0));
  CHECK(none.this_update == half);
  CHECK(serve::edition_at({}, half + seconds{43'199}) == none);
  auto next = serve::edition_at({}, half + seconds{43'200});
  CHECK(next.number == number_of(n + 1, 0));
  CHECK(next.this_update == half + seconds{43'200});
  // One of this half day: in the past also where a clock is behind.
  auto one = serve::edition_at(revocation_row{7, half + seconds{1000}},
                               half + seconds{1001});
  CHECK(one.number == number_of(n, 7));
  CHECK(one.this_update == half + seconds{700});
  auto two = serve::edition_at(revocation_row{9, half + seconds{1000}},
                               half + seconds{1001});
  CHECK(two.number > one.number);
  // It is old by the next one, and the number rises all the same.
  auto old = serve::edition_at(revocation_row{9, half + seconds{1000}},
                               half + seconds{50'000});
  CHECK(old.number > two.number);
  CHECK(old.this_update == half + seconds{43'200});
  // A restore took positions back: by the next half day the number rises.
  CHECK(serve::edition_at(revocation_row{3, half}, half + seconds{90'000})
            .number > old.number);
}

TEST_CASE("revocation: OpenSSL refuses what the list names", "[ops]") {
  auto keys = pki::make_bundle("compute.example.com", noon).value();
  auto good = issue(keys.node_ca, 1), bad = issue(keys.node_ca, 2);
  auto edition = serve::edition_at(revocation_row{5, system_clock{}.now()},
                                   system_clock{}.now());
  auto lists =
      serve::make_lists(keys, edition, {bad.revoked("revoked")}).value();
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].first == pki::authority_id(keys.node_ca));
  const auto& der = lists[0].second->der;
  temporary_folder dir;
  auto passed = verify(dir, keys.node_ca.certificate, der, good.leaf.der);
  INFO(passed.first);
  CHECK(passed.second == 0);
  auto refused = verify(dir, keys.node_ca.certificate, der, bad.leaf.der);
  CHECK(refused.second != 0);
  CHECK(refused.first.find("certificate revoked") != std::string::npos);
  write_text((dir / "list.der").string(), der);
  auto text = run("openssl crl -inform DER -noout -text -in " +
                  (dir / "list.der").string())
                  .first;
  INFO(text);
  CHECK(text.find("Version 2") != std::string::npos);
  CHECK(text.find("X509v3 CRL Number") != std::string::npos);
}

TEST_CASE("revocation: reasons as RFC 5280 calls them", "[ops]") {
  auto keys = pki::make_bundle("compute.example.com", noon).value();
  std::vector<revoked_row> rows;
  std::uint8_t salt = 0;
  for (const char* why : {"reclaimed", "superseded", "deleted", "revoked"})
    rows.push_back(issue(keys.node_ca, ++salt).revoked(why));
  auto lists =
      serve::make_lists(keys, serve::edition_at({}, noon), rows).value();
  temporary_folder dir;
  write_text((dir / "list.der").string(), lists[0].second->der);
  auto text = run("openssl crl -inform DER -noout -text -in " +
                  (dir / "list.der").string())
                  .first;
  INFO(text);
  auto count = [&](const std::string& what) {
    int out = 0;
    for (auto i = text.find(what); i != text.npos; i = text.find(what, i + 1))
      ++out;
    return out;
  };
  CHECK(count("Serial Number:") == 4);
  CHECK(count("Superseded") == 2);
  CHECK(count("Cessation Of Operation") == 1);
  CHECK(count("X509v3 CRL Reason Code") == 3);
  rows[0].why = "boredom";
  auto made = serve::make_lists(keys, serve::edition_at({}, noon), rows);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == errc::internal);
}

TEST_CASE("revocation: while the node CA's key rotates, each CA has a list",
          "[ops]") {
  using pki::key_name;
  auto first = pki::make_bundle("compute.example.com", noon).value();
  auto prepared = pki::prepare_key(first, key_name::node_ca, noon).value();
  auto active =
      pki::activate_key(prepared, key_name::node_ca, noon, true).value();
  auto old_one = issue(first.node_ca, 1), new_one = issue(active.node_ca, 2);
  std::vector<revoked_row> rows{old_one.revoked("revoked"),
                                new_one.revoked("revoked")};
  const auto now = system_clock{}.now();
  const auto edition = serve::edition_at(revocation_row{5, now}, now);
  // Another process may issue by the prepared one already.
  auto early = serve::make_lists(prepared, edition, rows).value();
  REQUIRE(early.size() == 2);
  CHECK(early[0].first == pki::authority_id(first.node_ca));
  CHECK(early[1].first == pki::authority_id(active.node_ca));
  auto lists = serve::make_lists(active, edition, rows).value();
  REQUIRE(lists.size() == 2);
  CHECK(lists[0].first == pki::authority_id(active.node_ca));
  CHECK(lists[1].first == pki::authority_id(first.node_ca));
  CHECK(lists[0].second->edition != lists[1].second->edition);
  temporary_folder dir;
  for (const auto& [ca, list, leaf] :
       {std::tuple{&active.node_ca, &lists[0], &new_one},
        std::tuple{&active.node_ca, &early[1], &new_one},
        std::tuple{&first.node_ca, &lists[1], &old_one}}) {
    auto refused =
        verify(dir, ca->certificate, list->second->der, leaf->leaf.der);
    INFO(refused.first);
    CHECK(refused.first.find("certificate revoked") != std::string::npos);
  }
}

TEST_CASE("revocation: the keeper makes a list once for each change", "[ops]") {
  auto keys = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("compute.example.com", noon).value());
  revoking_queries from;
  manual_clock time{noon + seconds{60}};
  serve::revocation_keeper keeper{from, time, keys};
  auto first = keeper.find("").value();
  CHECK(keeper.find(pki::authority_id(keys->node_ca)).value() == first);
  CHECK(keeper.find(std::string(40, '0')).error().code == errc::not_found);
  // What ended within the last half day is asked for too.
  CHECK(from.asked_for.first == noon - seconds{43'200});
  const auto bad = issue(keys->node_ca, 1);
  {
    std::lock_guard lock{from.mutex};
    from.last = revocation_row{12, noon + seconds{60}};
    from.rows = {bad.revoked("revoked")};
  }
  CHECK(test::eventually([&] { return keeper.find("").value() != first; }));
  auto later = keeper.find("").value();
  CHECK(later->edition != first->edition);
  CHECK(later->der.size() > first->der.size());
  {
    std::lock_guard lock{from.mutex};
    from.away = true;
  }
  keeper.stop();
  CHECK(keeper.find("").value() == later);
}

TEST_CASE("revocation: no list before the store has answered", "[ops]") {
  auto keys = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("compute.example.com", noon).value());
  revoking_queries from;
  from.away = true;
  manual_clock time{noon};
  serve::revocation_keeper keeper{from, time, keys};
  CHECK(keeper.find("").error().code == errc::unavailable);
}
