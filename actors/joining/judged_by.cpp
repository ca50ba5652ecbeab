#include "actors/joining/judged_by.hpp"

#include "actors/claim_owner.hpp"
#include "actors/steps.hpp"
#include "events/streams.hpp"

#include <optional>
#include <string>
#include <utility>

namespace bc::actors {

namespace {

class reading : public steps<reading> {
 public:
  reading(std::shared_ptr<ledger> streams,
          std::shared_ptr<const events::grant> granted,
          const pki::hardware_key& hardware, reply_to<judged_by> done)
      : streams_(std::move(streams)),
        hardware_(hardware.names_a_machine() ? hardware.hex : std::string{}),
        done_(std::move(done)) {
    out_.granted = std::move(granted);
  }

  void start() {
    const auto& pool = out_.granted->pool;
    if (!pool)
      return on_pool(std::make_shared<const events::pool::state>());
    streams_->pool(*pool, then(&reading::on_pool));
  }

  void on_fault(fault f) { done_(std::move(f)); }

 private:
  using node_step = void (reading::*)(shared_state<events::node::state>);

  void on_pool(shared_state<events::pool::state> pool) {
    out_.pool = std::move(pool);
    streams_->site(out_.granted->site, then(&reading::on_site));
  }

  void on_site(shared_state<events::site::state> site) {
    out_.site = std::move(site);
    streams_->tenant(out_.granted->tenant, then(&reading::on_tenant));
  }

  void on_tenant(shared_state<events::tenant::state> tenant) {
    out_.tenant = std::move(tenant);
    const auto& ek = out_.granted->ek_hash;
    if (ek.empty())
      return read_hardware();
    streams_->holder(events::node::ek_claim(ek), then(&reading::on_ek_holder));
  }

  void on_ek_holder(std::optional<events::claim_holder> holder) {
    read_node(holder, &reading::on_bound);
  }
  void on_bound(shared_state<events::node::state> node) {
    if (node && !events::node::is_bound_to(*node, out_.granted->ek_hash))
      return moved_on();
    out_.known = std::move(node);
    read_hardware();
  }

  void read_hardware() {
    if (hardware_.empty())
      return read_named();
    streams_->holder(events::node::hardware_claim(hardware_),
                     then(&reading::on_holder));
  }
  void on_holder(std::optional<events::claim_holder> holder) {
    read_node(holder, &reading::on_known);
  }
  void on_known(shared_state<events::node::state> node) {
    if (node && !events::node::holds_hardware(*node, hardware_))
      return moved_on();
    if (!out_.known)
      out_.known = std::move(node);
    else if (node && node->node->id != out_.known->node->id)
      out_.other = std::move(node);
    read_named();
  }

  void read_named() {
    const auto& name = out_.granted->node;
    if (!name)
      return done_(std::move(out_));
    streams_->node(*name, then(&reading::on_named));
  }

  void on_named(shared_state<events::node::state> node) {
    out_.named = std::move(node);
    done_(std::move(out_));
  }

  // Nobody's: the step gets null.
  void read_node(const std::optional<events::claim_holder>& holder,
                 node_step next) {
    if (!holder)
      return (this->*next)(nullptr);
    auto id = owner_of<node_id>(*holder);
    if (!id)
      return done_(fail(errc::internal, "A machine's claim is no node's"));
    streams_->node(*id, then(next));
  }
  void moved_on() {
    done_(fail(errc::conflict, "The machine's node moved on"));
  }

  std::shared_ptr<ledger> streams_;
  std::string hardware_;  // empty: nobody can be known by it
  reply_to<judged_by> done_;
  judged_by out_;
};

}  // namespace

void read_judged_by(std::shared_ptr<ledger> streams,
                    std::shared_ptr<const events::grant> granted,
                    const pki::hardware_key& hardware,
                    reply_to<judged_by> done) {
  std::make_shared<reading>(std::move(streams), std::move(granted), hardware,
                            std::move(done))
      ->start();
}

}  // namespace bc::actors
