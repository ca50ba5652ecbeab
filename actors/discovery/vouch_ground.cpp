#include "actors/discovery/vouch_ground.hpp"

#include "actors/batches.hpp"
#include "actors/steps.hpp"
#include "events/streams.hpp"

#include <utility>

namespace bc::actors {

namespace {

class reading : public steps<reading> {
 public:
  reading(std::shared_ptr<ledger> streams, site_id site,
          reply_to<vouch_ground> done)
      : streams_(std::move(streams)),
        site_(std::move(site)),
        done_(std::move(done)) {}

  void start() { streams_->site(site_, then(&reading::on_site)); }

  void on_fault(fault f) { done_(std::move(f)); }

 private:
  void on_site(shared_state<events::site::state> site) {
    out_.site = std::move(site);
    streams_->boot_lease(site_, then(&reading::on_lease));
  }

  void on_lease(shared_state<events::boot_lease::state> lease) {
    out_.lease = std::move(lease);
    if (!out_.lease->lease)
      return done_(std::move(out_));
    streams_->node(out_.lease->lease->holder, then(&reading::on_holder));
  }

  void on_holder(shared_state<events::node::state> node) {
    out_.holder = std::move(node);
    const auto& previous = out_.lease->lease->previous;
    if (!previous)
      return done_(std::move(out_));
    streams_->node(*previous, then(&reading::on_previous));
  }

  void on_previous(shared_state<events::node::state> node) {
    out_.previous = std::move(node);
    done_(std::move(out_));
  }

  std::shared_ptr<ledger> streams_;
  site_id site_;
  reply_to<vouch_ground> done_;
  vouch_ground out_;
};

}  // namespace

void read_vouch_ground(std::shared_ptr<ledger> streams, const site_id& of,
                       reply_to<vouch_ground> done) {
  std::make_shared<reading>(std::move(streams), of, std::move(done))->start();
}

std::vector<events::stream_write> pins_of(const site_id& site,
                                          const vouch_ground& ground) {
  std::vector<events::stream_write> out{
      pin(events::stream_of(site), ground.site->version),
      pin(events::boot_lease_stream(site), ground.lease->version)};
  if (!ground.lease->lease)
    return out;
  const auto& newest = *ground.lease->lease;
  out.push_back(pin(events::stream_of(newest.holder), ground.holder->version));
  if (newest.previous)
    out.push_back(
        pin(events::stream_of(*newest.previous), ground.previous->version));
  return out;
}

}  // namespace bc::actors
