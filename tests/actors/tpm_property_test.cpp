// Whatever happens to TPMs and their nodes, in whatever order: an EK is one
// live node's, and joins only as that node or where somebody let it in (spec:
// ATTESTATION section 2.6).
#include "tests/actors/tpm_world.hpp"

#include <random>

namespace bc::test {
namespace {

namespace node = events::node;
using events::refusal_reason;

// What should be, by the rules in words.
struct expected_machine {
  std::optional<node_id> bound;
  bool revoked = false;  // by an operator, and not joined since
  bool allowed = false;
};

class history {
 public:
  explicit history(std::uint32_t seed) : random_(seed) { w_.enroll(); }

  void step() {
    // Reclaims that are no quarrel.
    w_.time.advance(seconds{601});
    const auto n = below(machines);
    auto& m = model_[n];
    auto machine = w_.machine_of(static_cast<int>(n) + 1);
    switch (below(6)) {
      case 0:
      case 1:
        return join(m, machine);
      case 2:
        m.allowed = !m.allowed;
        if (m.allowed)
          w_.allow(machine);
        else
          w_.tpm->allowed.erase(machine.ek_hash());
        return;
      case 3:
        if (m.bound) {
          w_.command(*m.bound, node::revoke_identity{w_.time.now(), ""});
          m.revoked = true;
        }
        return;
      case 4:
        if (m.bound)
          w_.retire(*m.bound);
        m.bound.reset();
        m.revoked = false;
        return;
      default:
        return join_with_a_token(m, machine);
    }
  }

  void check() const {
    for (std::size_t n = 0; n < machines; ++n) {
      const auto ek = w_.machine_of(static_cast<int>(n) + 1).ek_hash();
      std::optional<events::claim_holder> holder;
      w_.ledger->holder(node::ek_claim(ek),
                        [&](auto found) { holder = found.value(); });
      CHECK(holder.has_value() == model_[n].bound.has_value());
      if (!holder)
        continue;
      CHECK(holder->stream == events::stream_of(*model_[n].bound));
      const auto state = w_.node(*model_[n].bound);
      CHECK(node::is_bound_to(state, ek));
      CHECK(node::is_identity_revoked(state) == model_[n].revoked);
      CHECK(state.node->node_key == "tpm");
    }
  }

 private:
  static constexpr std::size_t machines = 3;

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_);
  }

  void join(expected_machine& m, const tpm_machine& machine) {
    if (!m.allowed && (!m.bound || m.revoked)) {
      const auto before = w_.count("node.joined");
      const auto id = w_.deferred(machine);
      CHECK(w_.count("node.joined") == before);
      if (below(2) == 0)
        return;
      w_.approve(id);
    }
    const auto got = w_.join_well(machine);
    if (m.bound)
      CHECK(got == *m.bound);
    m.bound = got;
    m.revoked = false;
    const auto& all = w_.node(got).certificates;
    CHECK(all.back().cert.statements == std::vector{machine.statement()});
  }

  // Its hardware is the EK's node's, if there is one: no token takes that.
  void join_with_a_token(const expected_machine& m,
                         const tpm_machine& machine) {
    if (!m.bound)
      return;
    bc::test::machine thief;
    thief.claims = machine.claims;
    const auto token = w_.mint_reclaim_token();
    const auto head = w_.head();
    check_refused(w_, w_.join(thief, token.text()), head,
                  refusal_reason::join_reclaim, w_.owner);
  }

  tpm_world w_;
  std::mt19937 random_;
  std::array<expected_machine, machines> model_;
};

TEST_CASE("tpm: histories of EKs and their nodes", "[actors]") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    INFO("seed " << seed);
    history h{seed};
    for (int n = 0; n < 60; ++n) {
      h.step();
      h.check();
    }
  }
}

}  // namespace
}  // namespace bc::test
