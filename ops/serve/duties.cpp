#include "ops/serve/duties.hpp"

#include "events/checkpoint_signer.hpp"
#include "events/lease_keeper.hpp"
#include "ops/serve/process.hpp"
#include "projections/tailer.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace bc::serve {

namespace {

// Another process takes over at most so long after this one died.
constexpr seconds lease_time{15};

class running_duties final : public duties {
 public:
  explicit running_duties(duties_options o) : options_(std::move(o)) {}
  ~running_duties() override { stop(); }

  result<void> begin() {
    lease_ = events::lease_keeper::start(*options_.store->journal,
                                         process_name(), lease_time);
    if (options_.store->where.what == store::kind::postgres)
      start_tailer();
    if (options_.keys)
      start_signer();
    if (options_.publisher) {
      BC_TRYV(start_publisher());
    }
    return ok();
  }

  void wake() override {
    if (tailer_)
      tailer_->wake();
    if (publisher_)
      publisher_->wake();
  }

  void look(health& h) override {
    h.epoch = lease_->epoch();
    auto projected = options_.store->queries->position();
    if (projected) {
      h.projected = projected.value();
    } else if (h.store_problem.empty()) {
      h.store_problem = projected.error().message;
      h.store_detail = projected.error().detail;
    }
    if (auto parked = options_.store->queries->parked())
      h.parked_streams = tell(parked.value());
    if (publisher_)
      h.publisher = health_of(publisher_->stats());
  }

  // The lease last: another process must not begin before this one ended.
  void stop() override {
    if (publisher_)
      publisher_->stop();
    if (signer_)
      signer_->stop();
    if (tailer_)
      tailer_->stop();
    if (lease_)
      lease_->stop();
  }

 private:
  // The count, told in the log when it is not what it was.
  std::uint64_t tell(std::uint64_t parked) {
    auto before = std::exchange(parked_, parked);
    if (parked > before)
      spdlog::error(
          "read models: {} streams are parked, {} before; `better-compute "
          "doctor` names one and says what to do",
          parked, before);
    else if (parked < before)
      spdlog::info("read models: {} streams are parked, {} before", parked,
                   before);
    return parked;
  }

  [[nodiscard]] std::function<std::optional<std::uint64_t>()> epoch() const {
    return [lease = lease_.get()] { return lease->epoch(); };
  }

  void start_tailer() {
    tailer_ = projections::tailer::start(
        {options_.store->where.target, *options_.store->journal, epoch(),
         milliseconds{200},
         [](const std::string& line) { spdlog::error("projector: {}", line); },
         [](const std::string& line) { spdlog::warn("projector: {}", line); }});
  }

  void start_signer() {
    events::checkpoint_options o;
    o.epoch = epoch();
    o.log = options_.checkpoints ? options_.checkpoints : log_at_any_level;
    o.alarm = [](std::string_view line) { spdlog::error("{}", line); };
    signer_ = events::checkpoint_signer::start(*options_.store->journal,
                                               options_.keys, std::move(o));
  }

  result<void> start_publisher() {
    auto o = *options_.publisher;
    o.log = [](const std::string& line) {
      spdlog::warn("publisher: {}", line);
    };
    BC_TRY(p, events::kafka::publisher::start(
                  std::move(o), *options_.store->journal, epoch()));
    publisher_ = std::move(p);
    return ok();
  }

  static publisher_health health_of(const events::kafka::publisher_stats& s) {
    publisher_health h;
    h.state = events::kafka::text_of(s.state);
    h.published_here = s.state != events::kafka::publishing::standby;
    h.position = s.position;
    h.lag_events = s.lag_events;
    h.lag_seconds = static_cast<std::uint64_t>(s.lag.count());
    h.parked = s.parked;
    return h;
  }

  duties_options options_;
  std::unique_ptr<events::lease_keeper> lease_;
  std::unique_ptr<projections::tailer> tailer_;
  std::unique_ptr<events::checkpoint_signer> signer_;
  std::unique_ptr<events::kafka::publisher> publisher_;
  std::uint64_t parked_ = 0;  // at the last look
};

}  // namespace

result<std::unique_ptr<duties>> duties::start(duties_options options) {
  auto made = std::make_unique<running_duties>(std::move(options));
  BC_TRYV(made->begin());
  return std::unique_ptr<duties>{std::move(made)};
}

}  // namespace bc::serve
