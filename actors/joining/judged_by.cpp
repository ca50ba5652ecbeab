#include "actors/joining/judged_by.hpp"

#include "events/streams.hpp"

#include <optional>
#include <string>
#include <utility>

namespace bc::actors {

namespace {

class reading : public std::enable_shared_from_this<reading> {
 public:
  reading(std::shared_ptr<ledger> streams,
          shared_state<events::join_token::state> token,
          const pki::hardware_key& hardware, reply_to<judged_by> done)
      : streams_(std::move(streams)),
        hardware_(hardware.names_a_machine() ? hardware.hex : std::string{}),
        done_(std::move(done)) {
    out_.token = std::move(token);
  }

  void start() {
    const auto& pool = out_.token->token->pool;
    if (!pool)
      return on_pool(std::make_shared<const events::pool::state>());
    streams_->pool(*pool, then(&reading::on_pool));
  }

 private:
  template <class T>
  reply_to<T> then(void (reading::*next)(T)) {
    return [self = shared_from_this(), next](result<T> got) {
      if (!got)
        return self->done_(std::move(got).error());
      (self.get()->*next)(std::move(got).value());
    };
  }

  void on_pool(shared_state<events::pool::state> pool) {
    out_.pool = std::move(pool);
    streams_->site(out_.token->token->site, then(&reading::on_site));
  }

  void on_site(shared_state<events::site::state> site) {
    out_.site = std::move(site);
    streams_->tenant(out_.token->token->tenant, then(&reading::on_tenant));
  }

  void on_tenant(shared_state<events::tenant::state> tenant) {
    out_.tenant = std::move(tenant);
    if (hardware_.empty())
      return read_named();
    streams_->holder(events::node::hardware_claim(hardware_),
                     then(&reading::on_holder));
  }

  void on_holder(std::optional<events::claim_holder> holder) {
    if (!holder)
      return read_named();
    const std::string_view stream = holder->stream;
    auto id = node_id::parse(stream.substr(stream.find(':') + 1));
    if (!id)
      return done_(fail(errc::internal, "The hardware is held by no node"));
    streams_->node(id.value(), then(&reading::on_known));
  }

  void on_known(shared_state<events::node::state> node) {
    if (!events::node::holds_hardware(*node, hardware_))
      return done_(fail(errc::conflict, "The hardware's node moved on"));
    out_.known = std::move(node);
    read_named();
  }

  void read_named() {
    const auto& name = out_.token->token->node;
    if (!name)
      return done_(std::move(out_));
    streams_->node(*name, then(&reading::on_named));
  }

  void on_named(shared_state<events::node::state> node) {
    out_.named = std::move(node);
    done_(std::move(out_));
  }

  std::shared_ptr<ledger> streams_;
  std::string hardware_;  // empty: nobody can be known by it
  reply_to<judged_by> done_;
  judged_by out_;
};

}  // namespace

void read_judged_by(std::shared_ptr<ledger> streams,
                    shared_state<events::join_token::state> token,
                    const pki::hardware_key& hardware,
                    reply_to<judged_by> done) {
  std::make_shared<reading>(std::move(streams), std::move(token), hardware,
                            std::move(done))
      ->start();
}

}  // namespace bc::actors
