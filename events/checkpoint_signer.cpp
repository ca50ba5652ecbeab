#include "events/checkpoint_signer.hpp"

#include "events/journal_chain.hpp"
#include "events/journal_stream.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace bc::events {

namespace {

constexpr std::size_t page = 1000;

class signer final : public checkpoint_signer {
 public:
  signer(journal& store, std::shared_ptr<const pki::key_bundle> keys,
         checkpoint_options options)
      : keys_(std::move(keys)),
        options_(std::move(options)),
        duty_(store, keys_->journal_checkpoint, pki::journal_keys_of(*keys_),
              options_),
        thread_([this] { run(); }) {}

  ~signer() override { stop(); }

  void stop() override {
    {
      std::lock_guard lock{mutex_};
      stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable())
      thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!stopped_) {
      lock.unlock();
      look();
      lock.lock();
      wake_.wait_for(lock, options_.look, [this] { return stopped_; });
    }
  }

  void look() {
    auto epoch = options_.epoch ? options_.epoch() : std::nullopt;
    if (!epoch)
      return;
    auto done = guarded_look(*epoch);
    if (!done)
      return complain(done.error());
    complaint_.clear();
    if (done.value() && options_.log)
      options_.log(checkpoint_line(*done.value()));
  }

  result<std::optional<checkpoint>> guarded_look(std::uint64_t epoch) {
    try {
      return duty_.look(epoch);
    } catch (const std::exception& e) {
      return fail(errc::internal, "the journal failed", {}, e.what());
    }
  }

  // Once, not each second.
  void complain(const fault& f) {
    if (f.code == errc::invalid_state || f.message == complaint_)
      return;
    complaint_ = f.message;
    if (options_.alarm)
      options_.alarm("no checkpoint: " + std::string{wire_text(f.code)} + ": " +
                     f.message +
                     (f.detail.empty() ? "" : " (" + f.detail + ")"));
  }

  std::shared_ptr<const pki::key_bundle> keys_;
  const checkpoint_options options_;
  checkpoint_duty duty_;
  std::string complaint_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

checkpoint_duty::checkpoint_duty(journal& store, const pki::private_key& key,
                                 std::vector<pki::public_key> known,
                                 const checkpoint_options& options)
    : store_(store), key_(key), known_(std::move(known)), options_(options) {}

// Another holder of the lease may have signed meanwhile.
result<void> checkpoint_duty::find_last() {
  auto after = last_ ? last_->position : 0;
  for (;;) {
    BC_TRY(found, store_.read_checkpoints(after, page));
    if (found.empty())
      break;
    last_ = found.back();
    after = last_->position;
  }
  if (last_ && !is_signed_by_any(*last_, known_))
    return fail(errc::internal, "the checkpoint at row " +
                                    std::to_string(last_->position) +
                                    " is not signed by a key of the journal");
  return ok();
}

result<void> checkpoint_duty::follow(const head_row& head) const {
  detail::chain_point from;
  // No hash covers it: it follows from the last checkpoint and what began
  // since.
  std::optional<incarnation_id> incarnation;
  if (last_) {
    from = {last_->position, last_->commit, last_->link};
    incarnation = last_->incarnation;
  }
  detail::row_chain chain{from, {}};
  while (chain.position() < head.position) {
    BC_TRY(rows, store_.read_all(chain.position(), page));
    if (rows.empty())
      return detail::bad_row(chain.position() + 1, "is missing");
    for (const auto& e : rows) {
      if (e.position > head.position)
        break;
      BC_TRYV(chain.add(e, row_hash(e)));
      BC_TRY(started, journal_log::begun_by(e));
      if (started)
        incarnation = started->incarnation;
    }
  }
  BC_TRYV(chain.finish());
  if (incarnation && *incarnation != head.incarnation)
    return detail::does_not_verify(
        "the head is of incarnation " + head.incarnation.str() +
        ", but the rows are of incarnation " + incarnation->str());
  const auto& end = chain.end();
  if (end.position == head.position && end.commit == head.commit &&
      end.link == head.link)
    return ok();
  return detail::bad_row(from.position + 1,
                         "or one after it, up to row " +
                             std::to_string(head.position) +
                             ", was rewritten since the last checkpoint");
}

result<std::optional<checkpoint>> checkpoint_duty::look(std::uint64_t epoch) {
  BC_TRY(head, store_.head());
  if (head.position == 0)
    return std::nullopt;
  if (epoch != epoch_) {
    BC_TRYV(find_last());
    epoch_ = epoch;
  }
  auto now = store_.now();
  if (last_) {
    if (head.position < last_->position)
      return detail::bad_row(head.position + 1,
                             "is missing: the last checkpoint has it");
    if (head.position == last_->position)
      return std::nullopt;
    bool due = now - last_->time >= options_.every ||
               head.position - last_->position >= options_.events ||
               now < last_->time;  // a clock that was set back
    if (!due)
      return std::nullopt;
  }
  BC_TRYV(follow(head));
  auto signed_head = sign_checkpoint(head, now, key_);
  auto stored = store_.add_checkpoint(signed_head, epoch);
  if (!stored) {
    // Whether it is in the store is not known, or the lease is another's.
    epoch_ = 0;
    return std::move(stored).error();
  }
  last_ = signed_head;
  return std::optional{std::move(signed_head)};
}

std::unique_ptr<checkpoint_signer> checkpoint_signer::start(
    journal& store, std::shared_ptr<const pki::key_bundle> keys,
    checkpoint_options options) {
  return std::make_unique<signer>(store, std::move(keys), std::move(options));
}

}  // namespace bc::events
