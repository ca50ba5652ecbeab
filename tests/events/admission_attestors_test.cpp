// What attestors other than the token grant: whose node a TPM's machine takes
// back, and a ramdisk's (spec: ATTESTATION sections 2.6, 4 and 9a).
#include "admission_world.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::testing;
using pki::certificate_role;
using world = admission_world;

// spec: ATTESTATION 2.6 and 9a
TEST_CASE("admission: whose node a TPM's machine takes back") {
  const std::string ek(64, 'e');
  world w;
  auto& node = w.is_known();
  w.granting = [&ek](grant& g) {
    g.attestor = "tpm";
    g.token.reset();
    g.reclaims = takes_back::its_own;
    g.bound = true;
    g.ek_hash = ek;
  };
  std::optional<refusal_reason> why;
  SECTION("its own, without any leave") {
    node.ek_hash = ek;
  }
  SECTION("its own, on other hardware that names no machine") {
    node.ek_hash = ek;
    w.key = {std::string(64, 'd'), false, false};
  }
  SECTION("its own, of another pool") {
    node.ek_hash = ek;
    node.pool = fixed_id<pool_id>(2);
    why = refusal_reason::join_reclaim;
  }
  SECTION("its own, on hardware of another node") {
    node.ek_hash = ek;
    w.other = w.known;
    w.other->node->id = fixed_id<node_id>(2);
    SECTION("that no TPM is bound to") {
      w.other->node->ek_hash.clear();
    }
    SECTION("that is of another tenant") {
      w.other->node->ek_hash.clear();
      w.other->node->tenant = fixed_id<tenant_id>(2);
    }
    why = refusal_reason::join_reclaim;
  }
  SECTION("another EK's") {
    node.ek_hash = std::string(64, 'f');
    why = refusal_reason::tpm_ek_bound;
  }
  SECTION("another EK's, of another tenant: no more than that it is known") {
    node.ek_hash = std::string(64, 'f');
    node.tenant = fixed_id<tenant_id>(2);
    why = refusal_reason::join_reclaim;
  }
  SECTION("one that joined without a TPM") {
    why = refusal_reason::join_reclaim;
  }
  CHECK(w.judged() == why);
}

TEST_CASE("admission: which node a TPM's machine may say it is") {
  const std::string ek(64, 'e');
  const auto own = fixed_id<node_id>(1).str();
  const auto another = fixed_id<node_id>(2).str();
  world w;
  w.granting = [&ek](grant& g) {
    g.attestor = "tpm";
    g.token.reset();
    g.reclaims = takes_back::its_own;
    g.bound = true;
    g.ek_hash = ek;
  };
  std::optional<refusal_reason> why = refusal_reason::join_expect;
  SECTION("none, of an EK that is nobody's") {
    why.reset();
  }
  SECTION("any, of an EK that is nobody's") {
    w.claimed_node = own;
  }
  SECTION("the EK's own") {
    w.is_known().ek_hash = ek;
    w.claimed_node = own;
    why.reset();
  }
  SECTION("another than the EK's") {
    w.is_known().ek_hash = ek;
    w.claimed_node = another;
  }
  SECTION("the hardware's, which the EK is not bound to") {
    w.is_known().ek_hash = GENERATE_COPY(std::string{}, std::string(64, 'f'));
    w.claimed_node = own;
  }
  SECTION("one that was the EK's and is deleted") {
    w.is_known().ek_hash = ek;
    w.known->current = node::status::retired;
    w.claimed_node = own;
  }
  CHECK(w.judged() == why);
  // Which node it is, the words do not tell.
  for (const auto& rule : w.ruled().rules)
    CHECK(rule.expected.find("node_") == std::string::npos);
}

TEST_CASE("admission: a token never takes a TPM's node (case 127)") {
  world w;
  w.t().allow_reclaim = true;
  auto& node = w.is_known();
  REQUIRE(w.judged() == std::nullopt);
  node.ek_hash = std::string(64, 'e');
  CHECK(w.judged() == refusal_reason::join_reclaim);
  SECTION("not even one for this very node") {
    w.t().token_role = join_token::role::provisioned;
    w.t().node = node.id;
    w.claimed_node = node.id.str();
    CHECK(w.judged() == refusal_reason::join_reclaim);
  }
}

TEST_CASE("admission: what is bound need not be named by its hardware") {
  world w;
  w.key = {"", false, false};
  REQUIRE(w.judged() == refusal_reason::join_placeholder);
  w.granting = [](grant& g) { g.bound = true; };
  CHECK(w.judged() == std::nullopt);
}

// spec: ATTESTATION section 4
TEST_CASE("admission: a ramdisk's node, and who may have it next") {
  world w;
  auto& node = w.is_known();
  node.cert.role = certificate_role::ramdisk;
  const auto discovery = [](grant& g) {
    g.attestor = "discovery";
    g.role = certificate_role::ramdisk;
    g.reclaims = takes_back::ramdisk;
  };
  SECTION("the next ramdisk") {
    w.granting = discovery;
    CHECK(w.judged() == std::nullopt);
    node.cert.role = certificate_role::node;  // no ramdisk any more
    CHECK(w.judged() == refusal_reason::join_reclaim);
  }
  SECTION("what was deployed to it, by a token for it") {
    w.t().token_role = join_token::role::provisioned;
    w.t().node = node.id;
    w.claimed_node = node.id.str();
    CHECK(w.judged() == std::nullopt);
    w.t().node = fixed_id<node_id>(2);
    w.claimed_node = w.t().node->str();
    CHECK(w.judged() == refusal_reason::join_reclaim);
  }
  SECTION("no operating system by an operator's token") {
    w.t().allow_reclaim = true;
    CHECK(w.judged() == refusal_reason::join_reclaim);
  }
}
