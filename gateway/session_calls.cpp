#include "gateway/session_calls.hpp"

#include "base/ids.hpp"
#include "pki/digest.hpp"

#include <utility>

namespace bc::gateway {

namespace {

actors::daemon_call call_of(actors::daemon_request what, std::string body,
                            std::string certificate) {
  return {std::move(body), pki::mint<request_id>(system_clock{}.now()).str(),
          std::move(certificate), what};
}

// Nobody decided anything; asked again, it may go well.
bool is_failure(const actors::daemon_reply& reply) {
  return reply.status >= 500;
}

}  // namespace

void session_calls::ask(rank r, actors::daemon_request what, std::string body,
                        std::string certificate,
                        std::weak_ptr<const void> whose, answered done) {
  {
    std::lock_guard lock{mutex_};
    waiting_[static_cast<std::size_t>(r)].push_back(
        {call_of(what, std::move(body), std::move(certificate)),
         std::move(whose), std::move(done), false});
  }
  pump();
}

void session_calls::end(std::string body, std::string certificate) {
  {
    std::lock_guard lock{mutex_};
    put_end({call_of(actors::daemon_request::session_end, std::move(body),
                     std::move(certificate)),
             {},
             {},
             true});
  }
  pump();
}

void session_calls::retry_ends() {
  {
    std::lock_guard lock{mutex_};
    ends_may_go_ = true;
  }
  pump();
}

bool session_calls::drain(milliseconds limit) {
  std::unique_lock lock{mutex_};
  return idle_.wait_for(lock, limit, [this] {
    return in_flight_ == 0 && (ends_.empty() || !ends_may_go_);
  });
}

// The port may answer at once: that it does not call itself again and again,
// one thread pumps for all.
void session_calls::pump() {
  std::unique_lock lock{mutex_};
  if (std::exchange(pumping_, true))
    return;
  one what;
  while (next(what)) {
    ++in_flight_;
    lock.unlock();
    auto call = what.is_end ? what.call : std::move(what.call);
    port_.call(std::move(call),
               [self = shared_from_this(),
                what = std::move(what)](actors::daemon_reply reply) mutable {
                 self->asked(std::move(what), std::move(reply));
               });
    lock.lock();
  }
  pumping_ = false;
}

// The mutex held.
bool session_calls::next(one& out) {
  if (in_flight_ >= width)
    return false;
  auto take = [&out](std::deque<one>& from) {
    out = std::move(from.front());
    from.pop_front();
  };
  for (std::size_t r = 0; r < waiting_.size(); ++r) {
    // Ends are traffic.
    if (r == static_cast<std::size_t>(rank::hello) && ends_may_go_ &&
        !ends_.empty()) {
      take(ends_);
      return true;
    }
    while (!waiting_[r].empty()) {
      take(waiting_[r]);
      if (!out.whose.expired())
        return true;
    }
  }
  return false;
}

void session_calls::asked(one what, actors::daemon_reply reply) {
  const bool failed = is_failure(reply);
  if (!what.is_end)
    what.done(std::move(reply));
  {
    std::lock_guard lock{mutex_};
    --in_flight_;
    if (!failed)
      ends_may_go_ = true;
    if (failed && what.is_end) {
      ends_may_go_ = false;
      put_end(std::move(what));
    }
    idle_.notify_all();
  }
  pump();
}

void session_calls::put_end(one what) {
  if (ends_.size() >= most_ends)
    ends_.pop_front();
  ends_.push_back(std::move(what));
}

}  // namespace bc::gateway
