// spec: DESIGN section 8 (current and previous of each key)
#include "pki/rotation.hpp"

#include "pki/signature.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

const secret_bytes secret{std::string_view{"sixteen bytes or more"}};

const key_bundle& fresh() {
  static const auto made = make_bundle("compute.example.com", noon).value();
  return made;
}

std::string pin(const key_bundle& b, key_name k) {
  return key_of(b, k).pub().pin();
}

std::vector<std::string> trusted(const key_bundle& b, key_name k) {
  std::vector<std::string> out;
  for (const auto& key : public_keys_of(b, k))
    out.push_back(key.pin());
  return out;
}

std::string why_not(const result<key_bundle>& r) {
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().code == errc::invalid_state);
  return r.error().message;
}

}  // namespace

TEST_CASE("rotation: a key's three steps, both trusted in between") {
  for (auto k : every_key) {
    CAPTURE(key_text(k));
    auto old = pin(fresh(), k);
    auto prepared = prepare_key(fresh(), k, noon).value();
    CHECK(pin(prepared, k) == old);
    auto both = trusted(prepared, k);
    REQUIRE(both.size() == 2);
    CHECK(both[0] == old);
    auto next = both[1];
    CHECK(next != old);

    auto late = noon + rotation_wait;
    auto active = activate_key(prepared, k, late, false).value();
    CHECK(trusted(active, k) == std::vector{next, old});
    auto done = retire_key(active, k, late + rotation_wait, false).value();
    CHECK(trusted(done, k) == std::vector{next});
    CHECK(done.others.empty());
    // Nothing else moved.
    for (auto other : every_key)
      if (other != k)
        CHECK(pin(done, other) == pin(fresh(), other));
    CHECK(done.past_journal_keys.size() ==
          (k == key_name::journal_checkpoint ? 1 : 0));
  }
}

TEST_CASE("rotation: every bundle on the way is sealed and opened whole") {
  auto b = clone(fresh());
  for (auto k : every_key)
    b = prepare_key(b, k, noon).value();
  auto through = [](const key_bundle& from) {
    return open_bundle(seal_bundle(from, secret).value(), secret).value();
  };
  auto same = [](const key_bundle& x, const key_bundle& y) {
    for (auto k : every_key) {
      CHECK(trusted(x, k) == trusted(y, k));
      CHECK(certificates_of(x, k) == certificates_of(y, k));
      auto in_x = x.others.find(k), in_y = y.others.find(k);
      REQUIRE((in_x == x.others.end()) == (in_y == y.others.end()));
      if (in_x == x.others.end())
        continue;
      CHECK(in_x->second.what == in_y->second.what);
      CHECK(in_x->second.since == in_y->second.since);
      CHECK(in_x->second.key.scalar() == in_y->second.key.scalar());
    }
    CHECK(x.past_journal_keys == y.past_journal_keys);
  };
  same(b, *through(b));
  auto t = noon + rotation_wait;
  for (auto k : every_key)
    b = activate_key(b, k, t, false).value();
  same(b, *through(b));
  for (auto k : every_key)
    b = retire_key(b, k, t + rotation_wait, false).value();
  same(b, *through(b));
}

TEST_CASE("rotation: certificates go with their keys") {
  auto prepared = prepare_key(fresh(), key_name::node_ca, noon).value();
  auto both = certificates_of(prepared, key_name::node_ca);
  REQUIRE(both.size() == 2);
  CHECK(both[0] == fresh().node_ca.certificate);
  auto active = activate_key(prepared, key_name::node_ca, noon, true).value();
  CHECK(active.node_ca.certificate == both[1]);
  CHECK(parse_certificate(both[1]).value().key == active.node_ca.key.pub());
  CHECK(parse_certificate(both[1]).value().is_ca);
}

TEST_CASE("rotation: steps out of turn change nothing and say why") {
  auto k = key_name::serving_ca;
  CHECK(why_not(activate_key(fresh(), k, noon, true)) ==
        "serving-ca: no next key is prepared");
  CHECK(why_not(retire_key(fresh(), k, noon, true)) ==
        "serving-ca: there is no key to retire");
  auto prepared = prepare_key(fresh(), k, noon).value();
  CHECK(why_not(prepare_key(prepared, k, noon)) ==
        "serving-ca: a next key is prepared already; activate it");
  CHECK(why_not(retire_key(prepared, k, noon + rotation_wait, false)) ==
        "serving-ca: the next key did not take over yet");
  auto active = activate_key(prepared, k, noon, true).value();
  CHECK(why_not(prepare_key(active, k, noon)) ==
        "serving-ca: the key before is still trusted; retire it first");
  CHECK(why_not(activate_key(active, k, noon, true)) ==
        "serving-ca: no next key is prepared");
}

TEST_CASE("rotation: no step within a certificate's lifetime of the last") {
  for (auto k : every_key) {
    CAPTURE(key_text(k));
    bool nodes_hold_it =
        k != key_name::internal_ca && k != key_name::journal_checkpoint;
    auto prepared = prepare_key(fresh(), k, noon).value();
    auto soon = noon + rotation_wait - seconds{1};
    CHECK(activate_key(prepared, k, soon, false).has_value() == !nodes_hold_it);
    auto active = activate_key(prepared, k, soon, true).value();
    CHECK(retire_key(active, k, soon + seconds{1}, false).has_value() ==
          !nodes_hold_it);
    CHECK(retire_key(active, k, soon + rotation_wait, false).has_value());
    CHECK(retire_key(active, k, soon, true).has_value());
  }
}

TEST_CASE("rotation: a prepared key may be given up") {
  auto k = key_name::join_signing;
  auto prepared = prepare_key(fresh(), k, noon).value();
  auto back = retire_key(prepared, k, noon, true).value();
  CHECK(trusted(back, k) == trusted(fresh(), k));
  CHECK(back.past_journal_keys.empty());
}
