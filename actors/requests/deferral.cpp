#include "actors/requests/deferral.hpp"

#include "actors/api/models_wait.hpp"
#include "actors/batches.hpp"
#include "actors/claim_owner.hpp"
#include "actors/requests/places.hpp"
#include "actors/steps.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "projections/queries.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace bc::actors {

namespace {

namespace request = events::join_request;

// Of attempts at once all but one find their ground moved; a few more want the
// same place.
constexpr int max_tries = 8;

std::uint64_t seed_of(const join_request_id& id) {
  auto digest = pki::sha256(as_bytes(id.str()));
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i)
    seed = seed << 8U | digest.at(i);
  return seed;
}

/// One attempt: the requests of its machine, then what is recorded of it.
class deferring : public steps<deferring> {
 public:
  using state = request::state;

  deferring(std::shared_ptr<ledger> streams, deferral_order order,
            deferral_limits limits, reply_to<deferral_outcome> done)
      : streams_(std::move(streams)),
        order_(std::move(order)),
        limits_(limits),
        done_(std::move(done)) {}

  void start() {
    decided_ = pending_ = nullptr;
    held_.clear();
    models_reached_ = false;
    streams_->holder(request::decided_claim(order_.site, order_.subject,
                                            order_.seen.csr_sha256),
                     then(&deferring::on_decided_holder));
  }

  void on_fault(fault f) { done_(std::move(f)); }

 private:
  void on_decided_holder(std::optional<events::claim_holder> holder) {
    auto id = holder ? owner_of<join_request_id>(*holder) : std::nullopt;
    if (!id)
      return find_pending();
    held_.push_back(std::move(*holder));
    streams_->request(*id, then(&deferring::on_decided));
  }
  void on_decided(shared_state<state> found) {
    decided_ = std::move(found);
    find_pending();
  }
  void find_pending() {
    streams_->holder(request::pending_claim(order_.site, order_.subject),
                     then(&deferring::on_pending_holder));
  }
  void on_pending_holder(std::optional<events::claim_holder> holder) {
    auto id = holder ? owner_of<join_request_id>(*holder) : std::nullopt;
    if (!id)
      return judge();
    held_.push_back(std::move(*holder));
    streams_->request(*id, then(&deferring::on_pending));
  }
  void on_pending(shared_state<state> found) {
    pending_ = std::move(found);
    judge();
  }

  void judge() {
    switch (request::standing_of(decided_.get(), pending_.get(), order_.seen,
                                 now())) {
      case request::standing::approved:
        return done_(deferral_outcome{approved_request{decided_}});
      case request::standing::rejected:
        return done_(deferral_outcome{deferral_refusal::rejected});
      case request::standing::waiting:
        return answer(pending_->request->id);
      case request::standing::moved:
        return record(*pending_, attempt(pending_->request->id, std::nullopt));
      case request::standing::unknown:
        return confirm_unknown();
    }
  }

  // Another process may have decided, or refreshed, what is read here as
  // nothing: then its stream is read anew.
  void confirm_unknown() {
    auto b = machine_batch(order_.correlation, now());
    for (const auto& holder : held_)
      if (!holder.expires_at || now() < *holder.expires_at)
        b.writes.push_back(pin(holder.stream, version_of(holder.stream)));
    if (b.writes.empty())
      return open();
    streams_->append(std::move(b), then(&deferring::on_confirmed));
  }
  void on_confirmed(events::append_outcome outcome) {
    const auto* no = std::get_if<events::rejected>(&outcome);
    if (no == nullptr)
      return open();
    store_time_ = no->time;
    start_again();
  }
  [[nodiscard]] std::uint64_t version_of(
      const events::stream_id& stream) const {
    for (const auto& s : {decided_, pending_})
      if (s && s->request && events::stream_of(s->request->id) == stream)
        return s->version;
    return 0;
  }

  void open() {
    auto id = pki::mint<join_request_id>(now());
    if (!order_.takes_place)
      return record({}, attempt(std::move(id), std::nullopt));
    find_place(std::move(id));
  }

  void find_place(join_request_id id) {
    streams_->query(
        [site = order_.site.str(),
         at = now()](projections::queries& q) -> result<std::string> {
          BC_TRY(taken, q.taken_places(site, at));
          return places_text(taken);
        },
        [self = shared_from_this(),
         id = std::move(id)](const result<std::string>& taken) {
          if (!taken)
            return self->done_(taken.error());
          self->on_places(id, read_places(taken.value()));
        });
  }
  void on_places(const join_request_id& id, std::vector<std::int64_t> taken) {
    // What the read models do not show yet.
    taken.insert(taken.end(), seen_taken_.begin(), seen_taken_.end());
    place_ = free_place(std::move(taken), limits_.places, seed_of(id));
    if (place_)
      return record({}, attempt(id, place_));
    if (!order_.models || models_reached_)
      return done_(deferral_outcome{deferral_refusal::full});
    await_models();
  }

  // They may not show yet that one was freed.
  void await_models() { streams_->head(then(&deferring::on_head)); }
  void on_head(events::head_row head) {
    wait_for_models(
        order_.models, streams_, head.position,
        [self = shared_from_this(),
         wanted = head.position](const result<std::uint64_t>& reached) {
          if (!reached)
            return self->done_(reached.error());
          if (reached.value() < wanted)
            return self->done_(
                fail(errc::unavailable, "The read models are behind; retry"));
          self->models_reached_ = true;
          self->seen_taken_.clear();
          self->open();
        });
  }

  [[nodiscard]] request::defer attempt(
      join_request_id id, std::optional<std::int64_t> place) const {
    request::defer out;
    out.what = {std::move(id),   order_.tenant,
                order_.site,     order_.pool,
                order_.attestor, order_.subject,
                order_.seen,     place,
                now(),           {}};
    out.pending_for = limits_.pending_for;
    return out;
  }

  void record(const state& before, const request::defer& command) {
    auto decided = decide(before, command);
    if (!decided)
      return done_(decided.error());
    stream_ = events::stream_of(command.what.id);
    auto b = machine_batch(order_.correlation, command.what.at);
    b.writes.push_back(
        {stream_,
         before.request ? before.request->tenant.str() : order_.tenant.str(),
         before.version,
         {}});
    for (const auto& e : decided.value())
      b.writes.back().events.push_back(request::encode(e));
    b.writes.insert(b.writes.end(), order_.pins.begin(), order_.pins.end());
    if (before.request)
      b.valid_until = before.request->expires_at;
    // Decided meanwhile: it must not wait beside that.
    b.claims.push_back({request::decided_claim(order_.site, order_.subject,
                                               order_.seen.csr_sha256),
                        {}});
    b.claims.insert(b.claims.end(), order_.claims.begin(), order_.claims.end());
    streams_->append(
        std::move(b), [self = shared_from_this(), id = command.what.id](
                          const result<events::append_outcome>& outcome) {
          if (!outcome)
            return self->done_(outcome.error());
          const auto* no = std::get_if<events::rejected>(&outcome.value());
          if (no == nullptr)
            return self->answer(id);
          self->on_rejected(*no);
        });
  }

  void on_rejected(const events::rejected& no) {
    store_time_ = no.time;
    const bool ground_moved =
        (no.why == events::unmet::version && no.subject != stream_) ||
        (no.why == events::unmet::claim &&
         std::ranges::find(order_.claims, no.subject,
                           &events::claim_need::claim) != order_.claims.end());
    if (ground_moved)
      return done_(deferral_outcome{no});
    if (place_ && no.subject == request::place_claim(order_.site, *place_))
      seen_taken_.push_back(*place_);
    start_again();
  }

  void start_again() {
    if (++tries_ == max_tries)
      return done_(
          fail(errc::unavailable, "What this rests on keeps changing; retry"));
    start();
  }

  void answer(const join_request_id& id) {
    done_(deferral_outcome{deferral{id, limits_.retry_after}});
  }

  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point now() const {
    return std::max(streams_->now(), store_time_);
  }

  std::shared_ptr<ledger> streams_;
  deferral_order order_;
  deferral_limits limits_;
  reply_to<deferral_outcome> done_;
  shared_state<state> decided_;
  shared_state<state> pending_;
  std::vector<events::claim_holder> held_;  // that both were found by
  bool models_reached_ = false;  // the head of the journal, at this try
  events::stream_id stream_;     // the request's, when it was last recorded
  std::optional<std::int64_t> place_;
  std::vector<std::int64_t> seen_taken_;
  time_point store_time_ = time_point::min();
  int tries_ = 0;
};

}  // namespace

void defer_join(std::shared_ptr<ledger> streams, deferral_order order,
                deferral_limits limits, reply_to<deferral_outcome> done) {
  std::make_shared<deferring>(std::move(streams), std::move(order), limits,
                              std::move(done))
      ->start();
}

result<consumption> consume_request(const request::state& what,
                                    const tenant_id& pool_tenant,
                                    const node_id& node,
                                    const std::string& csr_sha256,
                                    time_point now) {
  BC_TRY(decided, decide(what, request::consume{node, csr_sha256, now}));
  consumption out{{events::stream_of(what.request->id),
                   pool_tenant.str(),
                   what.version,
                   {}},
                  what.request->expires_at};
  for (const auto& e : decided)
    out.write.events.push_back(request::encode(e));
  return out;
}

}  // namespace bc::actors
