#include "events/kafka/verify.hpp"

#include "base/json.hpp"
#include "events/kafka/journal_window.hpp"
#include "events/kafka/record.hpp"

#include <charconv>
#include <limits>
#include <set>
#include <tuple>

namespace bc::events::kafka {

namespace {

constexpr std::size_t page = 1'000;
constexpr std::size_t most_findings = 100;

struct event_id {
  std::string incarnation;
  std::uint64_t position = 0;
};

std::optional<event_id> parse_id(const std::string& text) {
  auto dash = text.rfind('-');
  if (dash == std::string::npos)
    return std::nullopt;
  event_id out{text.substr(0, dash), 0};
  auto [end, bad] = std::from_chars(text.data() + dash + 1,
                                    text.data() + text.size(), out.position);
  if (bad != std::errc{} || end != text.data() + text.size() ||
      out.position == 0)
    return std::nullopt;
  return out;
}

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
    BC_TRYV(read_parked());
    BC_TRYV(read_topics());
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

  void found(finding::kind what, std::uint64_t position, std::string text) {
    ++report_.faults;
    if (report_.findings.size() < most_findings)
      report_.findings.push_back({what, position, std::move(text)});
  }

  result<void> read_parked() {
    BC_TRY(what, brokers_.extents(options_.topics.parked(), go_on_));
    return brokers_.read(
        what,
        [this](const received& m) -> result<void> {
          auto doc = json::parse_object(m.value.value_or(""));
          auto text = doc ? json::reader{doc.value()}.text("id") : doc.error();
          if (auto id = text ? parse_id(text.value()) : std::nullopt;
              id && known_.at(id->position) == id->incarnation)
            parked_.insert(id->position);
          return ok();
        },
        go_on_);
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
    auto id = text ? parse_id(*text) : std::nullopt;
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
                            row.tenant, counts_[m.topic]);
    if (auto what = difference(wanted, m); !what.empty())
      found(finding::kind::altered, id.position,
            "event " + std::to_string(id.position) + " has another " + what +
                " than the journal gives, at " + place_of(m));
    auto& last = last_of_key_[{m.topic, row.tenant}];
    if (id.position < last)
      found(finding::kind::out_of_order, id.position,
            "event " + std::to_string(id.position) + " comes after event " +
                std::to_string(last) + " of the same key, at " + place_of(m));
    last = std::max(last, id.position);
  }

  static std::string difference(const record& wanted, const received& m) {
    if (m.topic != wanted.topic)
      return "topic";
    if (m.partition != wanted.partition)
      return "partition";
    if (m.key.value_or("") != wanted.key)
      return "key";
    if (m.value != wanted.value)
      return "value";
    for (const auto& [name, value] : wanted.headers)
      if (const auto* got = m.header(name); !got || *got != value)
        return "header " + name;
    return m.headers.size() == wanted.headers.size() ? "" : "set of headers";
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

  void judge_missing(const envelope& e) {
    if (parked_.contains(e.position)) {
      ++report_.parked;
      return;
    }
    const auto topic = options_.topics.events(e.type);
    const auto& home =
        partitions_[{topic, partition_of(e.tenant, counts_[topic])}];
    if (home.lost_its_begin && e.position < home.first) {
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
  std::map<std::pair<std::string, std::string>, std::uint64_t> last_of_key_;
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
