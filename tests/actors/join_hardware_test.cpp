// spec: joining#placeholder-hardware-and-reclaims; CASES areas HW and MAC: what
// becomes of a machine by what it says of itself.
#include "tests/actors/join_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::test;
using events::refusal_reason;

namespace {

const std::string no_uuid = "00000000-0000-0000-0000-000000000000";
const std::string shared_uuid = "30343536-3138-5a43-3231-313130325a47";

machine machine_with(int number, std::string uuid, std::string serial,
                     std::vector<std::string> macs) {
  auto m = make_machine(number);
  m.claims = {};
  m.claims.product_uuid = std::move(uuid);
  m.claims.product_serial = std::move(serial);
  m.claims.macs = std::move(macs);
  return m;
}

struct admitted {
  node_id id;
  std::int64_t generation = 0;
  bool trusted = false;
};

// With a token of its own, for one machine.
tried join_with_token(
    join_world& w, const machine& m,
    const std::function<void(events::join_token::created&)>& change = {}) {
  return w.join(m, w.mint_token(change).text());
}

admitted check_new(
    join_world& w, const machine& m,
    const std::function<void(events::join_token::created&)>& change = {}) {
  auto before = w.head();
  auto got = join_with_token(w, m, change);
  REQUIRE(joined(got));
  CHECK(got.reports.empty());
  auto id = node_of(got.answer);
  auto state = w.node(id);
  REQUIRE(state.node);
  CHECK_FALSE(state.node->reclaim);
  for (const auto& e : w.after(before))
    CHECK(e.type != "security.certificate-revoked");
  return {id, state.node->cert.generation, state.node->hardware_key_trusted};
}

void check_placeholder(join_world& w, const machine& m) {
  auto token = w.mint_token();
  auto before = w.head();
  check_refused(w, w.join(m, token.text()), before,
                refusal_reason::join_placeholder, w.owner);
  CHECK(w.uses_left(token) == 1);
}

void by_mac(events::join_token::created& t) {
  t.expect.mac = "3c:ec:ef:00:00:01";
}

pki::shared_uuids sharing() {
  const std::vector<std::string> texts = {shared_uuid};
  return pki::shared_uuids::parse(texts).value();
}

}  // namespace

TEST_CASE(
    "join: a placeholder board serial makes no two machines one "
    "(case 25)") {
  join_world w;
  auto a = machine_with(1, "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "",
                        {"3c:ec:ef:00:00:01"});
  auto b = machine_with(2, "7a1029ee-1b2c-4d3e-9f00-a17bccd0ee4f", "",
                        {"3c:ec:ef:00:00:02"});
  a.claims.board_serial = b.claims.board_serial = "To be filled by O.E.M.";
  auto first = check_new(w, a), second = check_new(w, b);
  CHECK(first.id != second.id);
  CHECK(first.trusted);
  CHECK(second.trusted);
  CHECK(second.generation == 1);
}

TEST_CASE(
    "join: filler and one NIC need a token bound to the machine "
    "(cases 26, 31, 45, 47)") {
  join_world w;
  const std::vector<machine> machines = [] {
    std::vector<machine> out;
    auto add = [&](const std::string& uuid, const std::string& serial) {
      out.push_back(machine_with(static_cast<int>(out.size()) + 1, uuid, serial,
                                 {"3c:ec:ef:00:00:01"}));
    };
    add("03000200-0400-0500-0006-000700080009", "Default string");
    add(no_uuid, "    ");
    add(no_uuid, "\u00a0");
    add(no_uuid, "PCA_number.ACC");
    add("Not Settable", "Not Specified");
    add("", "");
    add(no_uuid, "..0000000.");
    add("00112233-4455-6677-8899-aabbccddeeff", "System Serial Numb");
    return out;
  }();
  for (const auto& m : machines) {
    INFO(m.claims.product_uuid << ' ' << m.claims.product_serial);
    check_placeholder(w, m);
    CHECK_FALSE(check_new(w, m, by_mac).trusted);
  }
  auto two = machine_with(9, no_uuid, "None",
                          {"3c:ec:ef:00:00:01", "3c:ec:ef:00:00:02"});
  check_placeholder(w, two);
}

TEST_CASE("join: an untrusted machine never takes a node (case 47)") {
  join_world w;
  auto m = machine_with(1, "", "", {"3c:ec:ef:00:00:01"});
  auto first = check_new(w, m, by_mac);
  auto again =
      check_new(w, machine_with(2, "", "", {"3c:ec:ef:00:00:01"}), [](auto& t) {
        by_mac(t);
        t.allow_reclaim = true;
      });
  CHECK(first.id != again.id);
}

TEST_CASE("join: what is printed twice is no second fact (cases 33, 39)") {
  join_world w;
  check_placeholder(
      w, machine_with(1, "564d0011-2233-4455-6677-8899aabbccdd",
                      "VMware-56 4d 00 11 22 33 44 55-66 77 88 99 aa bb cc dd",
                      {}));
  check_placeholder(w, machine_with(2, "00000000-0000-0000-0000-ac1f6b000001",
                                    "", {"ac:1f:6b:00:00:01"}));
  check_placeholder(w, machine_with(3, "03de0294-0480-0500-0006-010700080009",
                                    "", {"94:de:80:00:00:01"}));
  check_placeholder(w, machine_with(4, "35343637-3033-435a-3232-303730303132",
                                    "CZ22070012", {}));
  // Another NIC, and the first is independent again.
  CHECK(check_new(w, machine_with(5, "00000000-0000-0000-0000-ac1f6b000001", "",
                                  {"3c:ec:ef:00:00:01"}))
            .trusted);
}

TEST_CASE(
    "join: one equal identifier of several is another machine "
    "(cases 34, 40, 46, 57)") {
  join_world w;
  const std::string uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
  auto allow = [](auto& t) { t.allow_reclaim = true; };
  auto a = check_new(w, machine_with(1, uuid, "SN-771X", {"3c:ec:ef:00:00:01"}),
                     allow);
  const machine others[] = {
      // The same UUID, another serial; another UUID, the same serial; the same
      // bytes in the other order; the same dock.
      machine_with(2, uuid, "SN-772X", {"3c:ec:ef:00:00:02"}),
      machine_with(3, "7a1029ee-1b2c-4d3e-9f00-a17bccd0ee4f", "SN-771X",
                   {"3c:ec:ef:00:00:01"}),
      machine_with(4, "ff19966f-868b-11d0-b42d-00cf4fc964ff", "SN-771X",
                   {"3c:ec:ef:00:00:01"}),
      machine_with(5, "8d03fa21-77c0-4d1e-8a5b-60f19e0c7d42", "SN-773X",
                   {"3c:ec:ef:00:00:01", "3C-EC-EF-00-00-01"}),
  };
  for (const auto& m : others) {
    INFO(m.claims.product_uuid << ' ' << m.claims.product_serial);
    auto b = check_new(w, m, allow);
    CHECK(b.id != a.id);
    CHECK(b.generation == 1);
  }
  CHECK(w.node(a.id).node->cert.generation == 1);
}

TEST_CASE(
    "join: one MAC on twenty hosts joins none of them to another "
    "(case 54)") {
  join_world w;
  const std::string bmc = "0c:ea:14:00:00:01";
  std::vector<node_id> seen;
  for (int i = 0; i < 20; ++i) {
    auto m = make_machine(i);
    m.claims.macs.push_back(bmc);
    auto got = check_new(w, m, [](auto& t) { t.allow_reclaim = true; });
    CHECK(got.trusted);
    CHECK(std::find(seen.begin(), seen.end(), got.id) == seen.end());
    seen.push_back(got.id);
  }
  check_placeholder(w, machine_with(99, "", "", {bmc}));
}

TEST_CASE(
    "join: addresses that are no NIC's own count for nothing "
    "(cases 55, 58, 60)") {
  join_world w;
  const std::string uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
  for (const char* mac :
       {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01",
        "33:33:00:00:00:01", "", "02:42:ac:11:00:02", "0a:58:a9:fe:00:01",
        "50:01:43:80:00:00:00:01", "3c:ec:ef:00:00",
        "80:00:02:08:fe:80:00:00:00:00:00:00:3c:ec:ef:00:00:00:00:01"}) {
    INFO(mac);
    check_placeholder(w, machine_with(1, uuid, "", {mac}));
    auto token = w.mint_token([&](auto& t) { t.expect.mac = mac; });
    auto before = w.head();
    check_refused(w,
                  w.join(machine_with(2, uuid, "SN-771X", {mac}), token.text()),
                  before, refusal_reason::join_expect, w.owner);
  }
}

TEST_CASE("join: a UUID that an operator knows to be shared is none") {
  join_world w;
  w.shared_uuids = sharing();
  auto alone = machine_with(1, shared_uuid, "", {"3c:ec:ef:00:00:01"});
  auto token = w.mint_token();
  auto before = w.head();
  auto got = w.join(alone, token.text());
  check_refused(w, got, before, refusal_reason::join_placeholder, w.owner);
  // What is told of the refusal does not take it for an identifier either.
  CHECK(got.reports.front().details.find(shared_uuid) == std::string::npos);
  CHECK(got.reports.front().details.find("3c:ec:ef:00:00:01") !=
        std::string::npos);

  auto bound =
      w.mint_token([](auto& t) { t.expect.product_uuid = shared_uuid; });
  before = w.head();
  check_refused(w, w.join(alone, bound.text()), before,
                refusal_reason::join_expect, w.owner);

  auto a = check_new(
      w, machine_with(2, shared_uuid, "SN-771X", {"3c:ec:ef:00:00:01"}));
  CHECK(a.trusted);
  CHECK(w.node(a.id).node->hardware_key ==
        pki::derive_hardware_key(
            pki::normalise(
                {"", "SN-771X", "", "", {"3c:ec:ef:00:00:01"}, {}, ""}))
            .hex);

  // Elsewhere the same machine is known by it.
  join_world other;
  CHECK(check_new(other, alone).trusted);
}
