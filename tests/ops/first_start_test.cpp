// spec: DESIGN section 4, first start.
#include "ops/serve/first_start.hpp"

#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/memory_journal.hpp"
#include "events/pki_bundle.hpp"
#include "events/streams.hpp"
#include "ops/cli/files.hpp"
#include "pki/digest.hpp"
#include "pki/rotation.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace bc;
namespace fs = std::filesystem;

namespace {

struct deployment {
  ~deployment() { disarm_all(); }
  result<tenant_id> bootstrap(const char* file = "credential") {
    return serve::bootstrap(*store, folder + "/" + file, time.now());
  }
  result<tenant_id> again(const char* file) {
    return serve::bootstrap_again(*store, folder + "/" + file, time.now());
  }
  bool has(const char* file) const { return fs::exists(folder + "/" + file); }
  std::uint64_t head() const { return store->head().value().position; }

  temporary_folder own;
  std::string folder = own.path();
  bc::system_clock time;
  std::unique_ptr<events::journal> store = events::make_memory_journal(time);
};

}  // namespace

TEST_CASE("bootstrap: makes the root tenant and a credential that counts",
          "[ops]") {
  deployment d;
  CHECK_FALSE(serve::find_root_tenant(*d.store).value());
  auto tenant = d.bootstrap();
  REQUIRE(tenant);
  CHECK(serve::find_root_tenant(*d.store).value() == tenant.value());

  auto text = cli::read_secret_file(d.folder + "/credential");
  REQUIRE(text);
  auto bearer = events::credential::parse_bearer(text.value().expose_text());
  REQUIRE(bearer);
  auto rows = d.store->read_stream(events::stream_of(bearer->id), 0, 10);
  REQUIRE(rows);
  REQUIRE(rows.value().size() == 1);
  CHECK(rows.value().front().tenant == tenant.value().str());
  // The store holds the secret's hash alone.
  auto all = rows.value().front().data + rows.value().front().internal;
  auto secret = text.value().expose_text().substr(
      text.value().expose_text().find('.') + 1);
  CHECK(all.find(secret) == std::string::npos);
  CHECK(all.find(to_hex(pki::sha256(as_bytes(secret)))) != std::string::npos);
}

TEST_CASE("bootstrap: a second one is ALREADY_EXISTS and writes nothing",
          "[ops]") {
  deployment d;
  REQUIRE(d.bootstrap());
  auto head = d.head();
  auto again = d.bootstrap("another");
  REQUIRE_FALSE(again);
  CHECK(again.error().code == errc::already_exists);
  CHECK(d.head() == head);
  CHECK_FALSE(d.has("another"));
}

TEST_CASE("bootstrap: a file that is there is left alone", "[ops]") {
  deployment d;
  REQUIRE(cli::write_new_secret_file(d.folder + "/credential", "mine"));
  auto made = d.bootstrap();
  REQUIRE_FALSE(made);
  CHECK(made.error().code == errc::already_exists);
  CHECK(d.head() == 0);
  CHECK(cli::read_secret_file(d.folder + "/credential").value().expose_text() ==
        "mine");
}

TEST_CASE("bootstrap: a file stays only with its credential (case 159)",
          "[ops]") {
  deployment d;
  arm(fault_point::store_before_append, fault_action::error);
  auto failed = d.bootstrap();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == errc::unavailable);
  CHECK_FALSE(d.has("credential"));
  CHECK(d.head() == 0);

  // Committed, but the answer was lost: the store is asked.
  arm(fault_point::store_after_commit, fault_action::error);
  auto made = d.bootstrap();
  REQUIRE(made);
  CHECK(d.has("credential"));
  CHECK(serve::find_root_tenant(*d.store).value() == made.value());
}

TEST_CASE("bootstrap --again: one more credential when all are lost", "[ops]") {
  deployment d;
  auto early = d.again("early");
  REQUIRE_FALSE(early);
  CHECK(early.error().code == errc::invalid_state);
  CHECK_FALSE(d.has("early"));

  auto tenant = d.bootstrap();
  REQUIRE(tenant);
  auto head = d.head();
  auto made = d.again("second");
  REQUIRE(made);
  CHECK(made.value() == tenant.value());
  CHECK(d.head() == head + 1);

  auto text = cli::read_secret_file(d.folder + "/second");
  REQUIRE(text);
  auto bearer = events::credential::parse_bearer(text.value().expose_text());
  REQUIRE(bearer);
  auto rows = d.store->read_stream(events::stream_of(bearer->id), 0, 10);
  REQUIRE(rows);
  REQUIRE(rows.value().size() == 1);
  CHECK(rows.value().front().tenant == tenant.value().str());
  CHECK(rows.value().front().actor == "system");
}

TEST_CASE("bootstrap --again: a file stays only with its credential (case 159)",
          "[ops]") {
  deployment d;
  REQUIRE(d.bootstrap());
  auto head = d.head();
  // Never over a file that is there.
  auto taken = d.again("credential");
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == errc::already_exists);

  arm(fault_point::store_before_append, fault_action::error);
  auto failed = d.again("second");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == errc::unavailable);
  CHECK_FALSE(d.has("second"));
  CHECK(d.head() == head);

  arm(fault_point::store_after_commit, fault_action::error);
  REQUIRE(d.again("second"));
  CHECK(d.has("second"));
  CHECK(d.head() == head + 1);
}

TEST_CASE("first start: the bundle opens with its secret alone", "[ops]") {
  deployment d;
  auto now = d.time.now();
  secret_bytes secret{std::string_view{"a secret of some length"}};
  CHECK(serve::load_keys(*d.store, secret).value() == nullptr);

  auto bundle = pki::make_bundle("compute.example.com", now).value();
  auto pins = pki::pins_of(bundle);
  auto sealed = pki::seal_bundle(bundle, secret).value();
  auto b = serve::new_batch(now);
  b.writes.push_back(serve::first_event(
      std::string{events::pki_stream}, pki::mint<tenant_id>(now),
      events::pki_bundle::encode(events::pki_bundle::initialized{
          bundle.trust_domain, pins.serving_ca, pins.join_signing,
          pins.join_encryption, now, sealed})));
  REQUIRE(d.store->append(std::span{&b, 1}));

  auto keys = serve::load_keys(*d.store, secret);
  REQUIRE(keys);
  REQUIRE(keys.value());
  CHECK(keys.value()->trust_domain == "compute.example.com");
  auto at = serve::load_keys_at(*d.store, secret).value();
  CHECK(at.version == 1);
  CHECK(serve::keys_are_current(*d.store, at.version).value());
  auto next = pki::prepare_key(bundle, pki::key_name::node_ca, now).value();
  auto step = serve::new_batch(now);
  step.writes.push_back(serve::first_event(
      std::string{events::pki_stream}, tenant_id{},
      events::pki_bundle::encode(events::pki_bundle::rotated{
          events::pki_bundle::step::prepared,
          {"node-ca"},
          {pins.serving_ca, pins.join_signing, pins.join_encryption},
          now,
          pki::seal_bundle(next, secret).value()})));
  step.writes.back().expected_version = at.version;
  REQUIRE(d.store->append(std::span{&step, 1}));
  CHECK_FALSE(serve::keys_are_current(*d.store, at.version).value());
  auto later = serve::load_keys_at(*d.store, secret).value();
  CHECK(later.bundle->others.size() == 1);
  CHECK(serve::keys_are_current(*d.store, later.version).value());
  auto wrong = serve::load_keys(
      *d.store, secret_bytes{std::string_view{"another secret, as long"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == errc::invalid_config);
}
