#include "events/kafka/verify.hpp"

#include "events/kafka/delivered.hpp"
#include "events/kafka/journal_window.hpp"
#include "events/kafka/record.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace bc::events::kafka {

namespace {

constexpr std::size_t page = 1'000;
constexpr std::size_t most_findings = 100;

std::string place_of(const received& m) {
  return m.topic + "[" + std::to_string(m.partition) + "] offset " +
         std::to_string(m.offset);
}

class verification {
 public:
  verification(const verify_options& options, journal& store, cluster& brokers,
               incarnations known, const keep_going& go_on)
      : options_(options),
        source_(options.source),
        store_(store),
        brokers_(brokers),
        known_(std::move(known)),
        window_(store),
        go_on_(go_on) {}

  result<verify_report> run() {
    // The control record first: what it covers is in the topics by now.
    BC_TRY(last, read_control(brokers_, options_.topics.control(),
                              options_.transactional_id, go_on_));
    report_.published = last;
    if (last) {
      BC_TRYV(match_control(store_, known_, *last));
    }
    BC_TRY(parked, parked_positions(brokers_, options_.topics, known_, go_on_));
    parked_ = std::move(parked);
    BC_TRYV(read_topics());
    if (last)
      misplaced_until_ = misplaced_until(*last, options_.topics);
    judge_partitions();
    BC_TRYV(look_for_missing(last ? last->position : 0));
    BC_TRY(head, store_.head());
    report_.head = head.position;
    return std::move(report_);
  }

 private:
  using partition_name = std::pair<std::string, std::int32_t>;
  struct partition_state {
    bool lost_its_begin = false;  // by retention
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  };

  /// Events of a topic that lie in another partition than their key's.
  struct misplacement {
    std::uint64_t count = 0;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;
    std::string first_place;
  };

  void found(finding::kind what, std::uint64_t position, std::string text) {
    ++report_.faults;
    if (report_.findings.size() < most_findings)
      report_.findings.push_back({what, position, std::move(text)});
  }

  result<void> read_topics() {
    std::vector<stretch> all;
    for (const auto& topic : options_.topics.event_topics()) {
      BC_TRY(what, brokers_.extents(topic, go_on_));
      counts_[topic] = static_cast<std::int32_t>(what.size());
      for (const auto& one : what)
        partitions_[{topic, one.partition}].lost_its_begin = one.from > 0;
      all.insert(all.end(), what.begin(), what.end());
    }
    return brokers_.read(
        all, [this](const received& m) { return take(m); }, go_on_);
  }

  result<void> take(const received& m) {
    ++report_.read;
    const auto* text = m.header("ce_id");
    auto id = text ? parse_event_id(*text) : std::nullopt;
    if (!id) {
      found(finding::kind::unknown, 0,
            "no event of this journal at " + place_of(m));
      return ok();
    }
    auto& here = partitions_[{m.topic, m.partition}];
    here.first = std::min(here.first, id->position);
    BC_TRY(row, window_.find(id->position));
    if (known_.at(id->position) != id->incarnation) {
      // A restored journal went on in another incarnation: what only Kafka
      // still has of the one before stays there.
      if (known_.has(id->incarnation))
        ++report_.abandoned;
      else
        found(finding::kind::unknown, id->position,
              *text + " is of an incarnation the journal never had, at " +
                  place_of(m));
      return ok();
    }
    if (!row) {
      found(finding::kind::unknown, id->position,
            *text + " is beyond the journal's head, at " + place_of(m));
      return ok();
    }
    if (seen_.size() <= id->position)
      seen_.resize(std::max<std::size_t>(id->position + 1, 2 * seen_.size()));
    if (seen_[id->position]) {
      found(finding::kind::repeated, id->position,
            *text + " is there again at " + place_of(m));
      return ok();
    }
    seen_[id->position] = true;
    compare(*row, *id, m);
    return ok();
  }

  void compare(const envelope& row, const event_id& id, const received& m) {
    const auto* source = m.header("ce_source");
    if (source_.empty() && source)
      source_ = *source;
    auto event = public_parts(row, id.incarnation, source_);
    if (!event)
      return found(finding::kind::altered, id.position,
                   "event " + std::to_string(id.position) +
                       " is not public, but is at " + place_of(m));
    auto wanted = record_of(*event, options_.topics.events(row.type),
                            row.tenant, options_.topics.partitions);
    if (m.topic == wanted.topic && m.partition != wanted.partition)
      misplaced(id, m);
    if (auto what = difference(wanted, m); !what.empty())
      found(finding::kind::altered, id.position,
            "event " + std::to_string(id.position) + " has another " + what +
                " than the journal gives, at " + place_of(m));
    auto& last = last_of_key_[{{m.topic, m.partition}, row.tenant}];
    if (id.position < last)
      found(finding::kind::out_of_order, id.position,
            "event " + std::to_string(id.position) + " comes after event " +
                std::to_string(last) + " of the same key, at " + place_of(m));
    last = std::max(last, id.position);
  }

  // Keys were moved all at once, or one event was put elsewhere.
  void misplaced(const event_id& id, const received& m) {
    auto& of_topic = misplaced_[m.topic];
    if (of_topic.count++ == 0)
      of_topic.first_place = place_of(m);
    of_topic.first = std::min(of_topic.first, id.position);
    of_topic.last = std::max(of_topic.last, id.position);
  }

  // One finding for each topic, however many events it is about.
  void judge_partitions() {
    const auto wanted = options_.topics.partitions;
    for (const auto& [topic, count] : counts_)
      if (count != wanted)
        found(finding::kind::partitions, 0,
              "topic " + topic + " has " + std::to_string(count) +
                  " partitions, configured are " + std::to_string(wanted) +
                  ": the number is for life, nothing is published until both "
                  "agree. " +
                  way_out());
    for (const auto& [topic, some] : misplaced_)
      found(finding::kind::partitions, some.first,
            std::to_string(some.count) + " events in " + topic +
                ", of positions " + std::to_string(some.first) + " to " +
                std::to_string(some.last) +
                ", lie in another partition than that of their key among " +
                std::to_string(wanted) + ", as at " + some.first_place +
                ": the number of partitions was changed, and their keys have "
                "lost the order. " +
                way_out());
  }

  // Topics named by a type have no prefix.
  [[nodiscard]] std::string way_out() const {
    if (options_.topics.events_by == layout::single)
      return "Publish to new topics: another kafka.prefix";
    return "Take kafka.layout \"single\" and another kafka.prefix, or, with "
           "every server stopped, delete the topics of events together with " +
           options_.topics.control() + ", and all is published again";
  }

  result<void> look_for_missing(std::uint64_t until) {
    for (std::uint64_t done = 0; done < until;) {
      BC_TRY(rows, store_.read_all(done, page));
      if (rows.empty())
        return fail(errc::internal,
                    "the journal has no event " + std::to_string(done + 1));
      for (const auto& e : rows) {
        done = e.position;
        if (e.position > until)
          break;
        auto event = public_parts(e, known_.at(e.position), source_);
        if (!event)
          continue;
        ++report_.expected;
        if (e.position >= seen_.size() || !seen_[e.position])
          judge_missing(e);
      }
    }
    return ok();
  }

  static bool is_aged_out(const partition_state& p, std::uint64_t position) {
    return p.lost_its_begin && position < p.first;
  }

  // It lay in one that was its key's before the number of partitions was
  // changed.
  [[nodiscard]] bool is_aged_out_elsewhere(const std::string& topic,
                                           std::uint64_t position) const {
    if (position > misplaced_until_)
      return false;
    for (auto p = partitions_.lower_bound({topic, 0});
         p != partitions_.end() && p->first.first == topic; ++p)
      if (is_aged_out(p->second, position))
        return true;
    return false;
  }

  void judge_missing(const envelope& e) {
    if (parked_.contains(e.position)) {
      ++report_.parked;
      return;
    }
    const auto topic = options_.topics.events(e.type);
    const auto& home = partitions_[{
        topic, partition_of(e.tenant, options_.topics.partitions)}];
    if (is_aged_out(home, e.position) ||
        ((misplaced_.contains(topic) || e.position < home.first) &&
         is_aged_out_elsewhere(topic, e.position))) {
      ++report_.aged_out;
      return;
    }
    found(finding::kind::missing, e.position,
          "event " + std::to_string(e.position) + " (" + e.type +
              ") is missing in " + topic);
  }

  const verify_options& options_;
  std::string source_;
  journal& store_;
  cluster& brokers_;
  incarnations known_;
  journal_window window_;
  const keep_going& go_on_;
  verify_report report_;
  std::vector<bool> seen_;
  std::set<std::uint64_t> parked_;
  std::map<std::string, std::int32_t> counts_;
  std::map<partition_name, partition_state> partitions_;
  std::map<std::string, misplacement> misplaced_;
  std::uint64_t misplaced_until_ = 0;
  std::map<std::pair<partition_name, std::string>, std::uint64_t> last_of_key_;
};

}  // namespace

std::string_view text_of(finding::kind what) noexcept {
  switch (what) {
    case finding::kind::missing:
      return "missing";
    case finding::kind::repeated:
      return "repeated";
    case finding::kind::altered:
      return "altered";
    case finding::kind::out_of_order:
      return "out-of-order";
    case finding::kind::unknown:
      return "unknown";
    case finding::kind::partitions:
      return "partitions";
  }
  return "unknown";
}

result<verify_report> verify_published(const verify_options& options,
                                       journal& store,
                                       const keep_going& go_on) {
  BC_TRYV(check_properties(options.client));
  BC_TRY(brokers, cluster::connect(options.client));
  BC_TRY(known, incarnations::load(store));
  verification v{options, store, *brokers, std::move(known), go_on};
  return v.run();
}

}  // namespace bc::events::kafka
