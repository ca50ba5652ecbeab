#include "actors/token_issuer.hpp"

#include "actors/batches.hpp"
#include "actors/join_token/token_attesting.hpp"
#include "actors/token_secret.hpp"
#include "base/wire_attest.hpp"
#include "events/reclaim_rules.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_text.hpp"

#include <utility>

namespace bc::actors {

namespace {

using events::join_token::created;
using events::join_token::role;

constexpr seconds shortest{60};
constexpr seconds longest{86'400};
constexpr int max_tries = 3;

// One token on its way; has one answer.
class issuing : public std::enable_shared_from_this<issuing> {
 public:
  issuing(std::shared_ptr<ledger> streams, std::shared_ptr<secret_sink> secrets,
          token_order order, created token, reply_to<issued_token> done)
      : streams_(std::move(streams)),
        secrets_(std::move(secrets)),
        order_(std::move(order)),
        token_(std::move(token)),
        done_(std::move(done)) {}

  void start() {
    if (order_.lifetime < shortest || order_.lifetime > longest)
      return done_(fail(errc::invalid_input, "must be from 60 to 86400 seconds",
                        "/lifetime"));
    look_at_pool();
  }

 private:
  template <class Next>
  auto then(Next next) {
    return [me = shared_from_this(), next](auto found) {
      if (!found)
        return me->give_up(found.error());
      next(*me, std::move(found).value());
    };
  }

  void look_at_pool() {
    streams_->pool(
        order_.pool,
        then([](issuing& me, const shared_state<events::pool::state>& pool) {
          me.ground_ = {pin(events::stream_of(me.order_.pool), pool->version)};
          if (auto good = me.check(*pool); !good)
            return me.refuse(good.error());
          me.look_at_site(pool);
        }));
  }

  result<void> check(const events::pool::state& s) const {
    if (!s.pool || s.pool->tenant != order_.tenant)
      return fail(errc::not_found, "No such pool");
    if (s.archived_at)
      return fail(errc::invalid_state, "The pool is archived");
    if (s.pool->pool_agent != events::pool::agent::bcd)
      return fail(errc::invalid_state,
                  "The machines of this pool run no daemon");
    if (!events::pool::admits_attestor(s.pool->rules, attestor()))
      return fail(errc::invalid_state, "The pool's joinAttestors leave out " +
                                           std::string{attestor()});
    return ok();
  }

  [[nodiscard]] std::string_view attestor() const {
    return token_.token_role == role::discovery ? wire::discovery_attestor
                                                : token_attestor;
  }

  void look_at_site(const shared_state<events::pool::state>& pool) {
    streams_->site(pool->pool->site,
                   then([pool](issuing& me,
                               const shared_state<events::site::state>& site) {
                     me.ground_.push_back(pin(
                         events::stream_of(pool->pool->site), site->version));
                     if (auto good = me.check(*site); !good)
                       return me.refuse(good.error());
                     me.token_.site = pool->pool->site;
                     me.look_at_node();
                   }));
  }

  result<void> check(const events::site::state& s) const {
    if (!s.site || s.deleted_at)
      return fail(errc::invalid_state, "The pool's site is deleted");
    if (!is_visible_to(*s.site, order_.tenant))
      return fail(errc::invalid_state,
                  "The pool's site no longer serves this tenant");
    return ok();
  }

  void look_at_node() {
    if (!token_.node)
      return make();
    streams_->node(
        *token_.node,
        then([](issuing& me, const shared_state<events::node::state>& node) {
          me.ground_.push_back(
              pin(events::stream_of(*me.token_.node), node->version));
          if (auto good = me.check(*node); !good)
            return me.refuse(good.error());
          me.make();
        }));
  }

  // One that is not there yet is what the machine becomes. Any other must be
  // one that the machine may take back by this token, or nobody ever could.
  result<void> check(const events::node::state& s) const {
    using events::reclaim_fault;
    if (!s.node)
      return ok();
    const auto fault = reclaim_fault_of(*s.node, events::grant_of(token_));
    if (fault == reclaim_fault::tenant)
      return fail(errc::not_found, "No such node", "/node");
    if (s.current == events::node::status::retired)
      return fail(errc::invalid_state, "The node is retired", "/node");
    if (fault)
      return fail(errc::invalid_state,
                  "No machine could join with it: " +
                      std::string{reclaim_fault_text(*fault)},
                  "/node");
    return ok();
  }

  void make() { reference_.empty() ? put_secret() : append(); }

  // Another process may have changed what this rests on.
  void refuse(const fault& why) {
    auto b = new_batch();
    b.writes = ground_;
    streams_->append(
        std::move(b),
        then([why](issuing& me, const events::append_outcome& outcome) {
          std::holds_alternative<events::appended>(outcome) ? me.give_up(why)
                                                            : me.decide_again();
        }));
  }

  // On the thread that may block: the sink writes to a disk.
  void put_secret() {
    token_.id = pki::mint<join_token_id>(streams_->now());
    auto secret = give_secret(token_, streams_->now(), order_.lifetime);
    auto bearer =
        std::make_shared<const secret_bytes>(bearer_text(token_.id, secret));
    streams_->query(
        [secrets = secrets_, name = token_.id.str(),
         bearer](projections::queries&) { return secrets->put(name, *bearer); },
        then([](issuing& me, std::string reference) {
          me.reference_ = std::move(reference);
          me.append();
        }));
  }

  [[nodiscard]] events::batch new_batch() const {
    events::batch b;
    b.id = pki::mint<batch_id>(streams_->now());
    b.actor = order_.actor;
    b.correlation = order_.correlation;
    return b;
  }

  void append() {
    auto b = new_batch();
    b.writes = ground_;
    b.writes.push_back({events::stream_of(token_.id),
                        order_.tenant.str(),
                        0,
                        {events::join_token::encode(token_)}});
    streams_->append(std::move(b), [me = shared_from_this()](auto outcome) {
      if (!outcome)
        return me->give_up(me->perhaps_made(outcome.error()));
      if (std::holds_alternative<events::appended>(outcome.value()))
        return me->done_(
            issued_token{me->token_.id, me->reference_, me->token_.expires_at});
      me->decide_again();
    });
  }

  void decide_again() {
    if (tries_++ < max_tries)
      return look_at_pool();
    give_up(
        fail(errc::unavailable, "What this rests on keeps changing; retry"));
  }

  // Whoever repeats it gets another token.
  [[nodiscard]] fault perhaps_made(fault why) const {
    if (why.code == errc::unavailable)
      why.message += ". The token may exist: revoke " + token_.id.str();
    return why;
  }

  // A secret whose token may be in the journal all the same opens nothing that
  // anybody was told of.
  void give_up(const fault& why) {
    if (!reference_.empty())
      secrets_->drop(reference_);
    done_(why);
  }

  std::shared_ptr<ledger> streams_;
  std::shared_ptr<secret_sink> secrets_;
  token_order order_;
  created token_;
  reply_to<issued_token> done_;
  std::vector<events::stream_write> ground_;
  std::string reference_;
  int tries_ = 1;
};

created token_for(const token_order& order, role r) {
  created token;
  token.tenant = order.tenant;
  token.pool = order.pool;
  token.token_role = r;
  return token;
}

}  // namespace

void token_issuer::issue_provisioned(token_order order,
                                     std::optional<node_id> node,
                                     reply_to<issued_token> done) {
  auto token = token_for(order, role::provisioned);
  token.node = std::move(node);
  std::make_shared<issuing>(streams_, secrets_, std::move(order),
                            std::move(token), std::move(done))
      ->start();
}

void token_issuer::issue_discovery(token_order order, const std::string& mac,
                                   reply_to<issued_token> done) {
  auto own = pki::parse_mac(mac);
  if (!own)
    return done(fail(errc::invalid_input,
                     "is no permanent MAC that a NIC could have", "/mac"));
  auto token = token_for(order, role::discovery);
  token.expect.mac = std::move(own);
  std::make_shared<issuing>(streams_, secrets_, std::move(order),
                            std::move(token), std::move(done))
      ->start();
}

}  // namespace bc::actors
