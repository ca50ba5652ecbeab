#include "events/kafka/resume.hpp"

#include "events/catalog.hpp"
#include "events/kafka/delivered.hpp"
#include "events/kafka/producer.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace bc::events::kafka {

namespace {

constexpr std::size_t page = 500;

using last_record = std::optional<control_record>;

// How an operator's word would be obeyed, and what would come of it.
fault needs_consent(const envelope& e, std::uint64_t after, std::uint64_t until,
                    const char* what, const char* flag) {
  return fail(errc::invalid_state,
              "event " + std::to_string(e.position) + " (" + e.type + ") " +
                  what + " when publishing goes on after " +
                  std::to_string(after) +
                  ": subscribers have the events up to " +
                  std::to_string(until) + ". Give that position, or " + flag);
}

class resumption {
 public:
  resumption(const publisher_options& options, journal& store, cluster& brokers,
             incarnations known, const keep_going& go_on)
      : options_(options),
        store_(store),
        brokers_(brokers),
        known_(std::move(known)),
        go_on_(go_on) {}

  // The record that lets the publisher go on; after another producer of its id
  // was fenced.
  result<control_record> decide(std::optional<std::uint64_t> given,
                                const resume_consent& consent) {
    BC_TRY(last, read_control(brokers_, options_.topics.control(),
                              options_.transactional_id, go_on_));
    BC_TRYV(must_not_fit(last));
    BC_TRY(head, store_.head());
    BC_TRYV(must_be_there(given, head.position));
    BC_TRYV(must_have_moved_on(last, head.position));
    BC_TRY(held, last_delivered(brokers_, options_.topics, options_.source,
                                store_, known_, limit_by(last), go_on_));
    const auto until = published_until(last, head.position, held);
    // Of a lost record nobody but the operator knows why.
    if (!given && (!last || until == 0))
      return fail(errc::invalid_input,
                  "Kafka has no record of how far this journal was published: "
                  "give the position of its last event in the topics");
    const auto after = given.value_or(until);
    if (held && held->has_others) {
      BC_TRYV(must_leave_out_others(after, until, consent));
    }
    // The record may be of the copy that is gone.
    BC_TRYV(must_follow(after, until, held ? held->until : until, consent));
    BC_TRY(rows, store_.read_all(after - 1, 1));
    if (rows.empty())
      return no_event(after);
    // Checkpoints of the old copy and of the new one may stand at one position.
    control_record next{known_.at(after), after, rows.front().hash};
    if (last) {
      next.checkpoint = std::min(last->checkpoint, after);
      next.partitions = last->partitions;
      next.events_by = last->events_by;
      next.placed_after = std::min(last->placed_after, after);
    }
    return next;
  }

 private:
  static fault no_event(std::uint64_t position) {
    return fail(errc::internal,
                "the journal has no event " + std::to_string(position));
  }

  // INVALID_STATE unless the publisher halts on what Kafka says was published.
  result<void> must_not_fit(const last_record& last) {
    auto fits = last ? match_control(store_, known_, *last)
                     : must_be_unpublished(brokers_, options_.topics,
                                           options_.source, go_on_);
    if (fits)
      return fail(errc::invalid_state,
                  "Kafka and the journal fit together; there is nothing to "
                  "decide");
    return fits.error().code == errc::invalid_state ? ok() : fits;
  }

  static result<void> must_be_there(std::optional<std::uint64_t> given,
                                    std::uint64_t head) {
    if (!given || (*given >= 1 && *given <= head))
      return ok();
    return fail(errc::invalid_input, "the journal has positions 1 to " +
                                         std::to_string(head) + "; asked for " +
                                         std::to_string(*given));
  }

  // A restored journal goes on in another incarnation, or its events would get
  // ids that others have.
  result<void> must_have_moved_on(const last_record& last, std::uint64_t head) {
    if (last && known_.at(head) == last->incarnation)
      return fail(errc::invalid_state,
                  "the journal began no other incarnation since; after a "
                  "restore run first: better-compute journal new-incarnation");
    return ok();
  }

  // Where what Kafka holds of this journal can end. The record says which
  // incarnation was published last: an id of a later one is forged.
  [[nodiscard]] std::uint64_t limit_by(const last_record& last) const {
    if (last && known_.has(last->incarnation) && known_.last_start() > 0)
      return known_.last_start() - 1;
    return std::numeric_limits<std::uint64_t>::max();
  }

  // Everything up to there was published: by what the topics hold, and by the
  // record as far as the journal is of the record's incarnation.
  [[nodiscard]] std::uint64_t published_until(
      const last_record& last, std::uint64_t head,
      const std::optional<delivery>& held) const {
    const auto until = held ? held->until : 0;
    if (last)
      for (auto at = std::min(last->position, head); at > until; --at)
        if (known_.at(at) == last->incarnation)
          return at;
    return until;
  }

  // No id is given to two events.
  static result<void> must_leave_out_others(std::uint64_t after,
                                            std::uint64_t until,
                                            const resume_consent& consent) {
    if (after >= until && consent.skip_undelivered)
      return ok();
    return fail(errc::invalid_state,
                "after the restore the journal wrote on under ids that "
                "subscribers have for other events, up to " +
                    std::to_string(until) +
                    ": what it wrote there can never be published. Give that "
                    "position, and --skip-undelivered");
  }

  // `held`: up to there the topics show it.
  result<void> must_follow(std::uint64_t after, std::uint64_t until,
                           std::uint64_t held, const resume_consent& consent) {
    if (after > held && !consent.skip_undelivered) {
      BC_TRY(parked,
             parked_positions(brokers_, options_.topics, known_, go_on_));
      BC_TRY(left, first_public(held + 1, after, parked));
      if (left)
        return needs_consent(*left, after, until,
                             "was not published, and is left out",
                             "--skip-undelivered");
    }
    if (after < until && !consent.resend_delivered) {
      BC_TRY(again, first_public(after + 1, until, {}));
      if (again)
        return needs_consent(*again, after, until,
                             "was published, and is sent again",
                             "--resend-delivered");
    }
    return ok();
  }

  // The first event of these positions, both included, that subscribers get.
  result<std::optional<envelope>> first_public(
      std::uint64_t from, std::uint64_t until,
      const std::set<std::uint64_t>& but) {
    for (auto done = from - 1; done < until;) {
      BC_TRY(rows, store_.read_all(done, page));
      if (rows.empty())
        return no_event(done + 1);
      for (auto& e : rows) {
        done = e.position;
        if (e.position > until)
          break;
        if (!but.contains(e.position) &&
            public_parts(e, known_.at(e.position), options_.source))
          return std::optional{std::move(e)};
      }
    }
    return std::optional<envelope>{};
  }

  const publisher_options& options_;
  journal& store_;
  cluster& brokers_;
  const incarnations known_;
  const keep_going& go_on_;
};

}  // namespace

result<control_record> resume_after(const publisher_options& o, journal& store,
                                    std::optional<std::uint64_t> position,
                                    const resume_consent& consent,
                                    const keep_going& go_on) {
  BC_TRYV(check_properties(o.client));
  BC_TRY(known, incarnations::load(store));
  BC_TRY(brokers, cluster::connect(o.client));
  BC_TRY(out, producer::make(o.client, o.transactional_id));
  BC_TRYV(out->init_transactions(go_on));
  resumption asked{o, store, *brokers, std::move(known), go_on};
  BC_TRY(next, asked.decide(position, consent));
  BC_TRYV(out->begin());
  BC_TRY(sent,
         out->send(to_record(next, o.topics.control(), o.transactional_id), 0,
                   go_on));
  static_cast<void>(sent);
  BC_TRYV(out->flush(go_on));
  BC_TRYV(out->commit(go_on));
  return std::move(next);
}

}  // namespace bc::events::kafka
