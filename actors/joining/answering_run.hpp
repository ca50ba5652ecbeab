#pragma once

#include "actors/joining/answers.hpp"
#include "actors/joining/stored_answer.hpp"
#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "base/encoding.hpp"
#include "events/node.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bc::actors {

/// What a join, a rejoin and a renewal share, each a class `Run` of this base:
/// one request of a machine, from its body to its answer. Each step either ends
/// it or asks the ledger, which comes back to the next one.
template <class Run>
class answering_run : public std::enable_shared_from_this<Run> {
 protected:
  template <class T>
  using step = void (Run::*)(T);
  using plain_step = void (Run::*)();

  answering_run(std::shared_ptr<const pki::key_bundle> keys,
                std::shared_ptr<ledger> streams, std::string correlation,
                std::function<void(wire::join_answer)> done)
      : keys_(std::move(keys)),
        streams_(std::move(streams)),
        correlation_(std::move(correlation)),
        done_(std::move(done)) {}
  ~answering_run() = default;

  /// What an answer of this request is kept under (asked_again::subject).
  [[nodiscard]] virtual std::string answer_subject() const = 0;
  /// Gives a stored or a new answer.
  virtual void give(signed_text body) = 0;
  /// Judges anew, by states that are read anew.
  virtual void again() = 0;
  /// Of an answer UNAVAILABLE.
  [[nodiscard]] virtual std::string_view unavailable_text() const {
    return "The join could not be completed now; retry";
  }

  /// The ledger's answer goes to the step; its fault ends the request.
  template <class T>
  reply_to<T> then(step<T> next) {
    return [self = this->shared_from_this(), next](result<T> got) {
      if (!got)
        return self->answering_run::unavailable();
      (self.get()->*next)(std::move(got).value());
    };
  }

  /// The SHA-256 of the CSR, which every signed answer is bound to, and the
  /// time of the arrival, which a refusal is signed as of: the time of the
  /// refusal itself would tell how far the request came, which holding it back
  /// is to hide.
  void begin(byte_view csr) {
    csr_sha256_ = pki::sha256(csr);
    asked_at_ = streams_->now();
  }
  /// False unless it is a CSR of ours, signed by its own key.
  [[nodiscard]] bool read_csr(byte_view csr) {
    auto read = pki::parse_csr(csr);
    if (!read || !pki::self_signature_verifies(read.value()))
      return false;
    csr_ = std::move(read).value();
    return true;
  }

  // The answer of an earlier attempt: looked up once it is proved who asks,
  // else the step goes on.
  void find_answer(plain_step otherwise) {
    answer_held_ = false;
    if_void_ = otherwise;
    streams_->holder(answer_claim(), then<std::optional<events::claim_holder>>(
                                         &Run::on_answer_holder));
  }
  void on_answer_holder(std::optional<events::claim_holder> holder) {
    if (!holder || is_over(*holder))
      return (run()->*if_void_)();
    give_stored(*holder, if_void_);
  }
  void give_stored(const events::claim_holder& holder, plain_step otherwise) {
    if_void_ = otherwise;
    find_stored_answer(
        streams_, holder,
        {answer_subject(), to_hex(csr_sha256_), correlation_, decision_time()},
        then<found_answer>(&Run::on_stored));
  }
  void on_stored(found_answer found) {
    if (const auto* why = std::get_if<events::rejected>(&found))
      return try_again(why->time);
    if (auto* answer = std::get_if<signed_text>(&found))
      return give(std::move(*answer));
    answer_held_ = true;
    (run()->*if_void_)();
  }
  [[nodiscard]] std::string answer_claim() const {
    return events::node::answer_claim(answer_subject(), to_hex(csr_sha256_));
  }
  /// The precondition that nobody was answered yet; none while the answer that
  /// is held is void.
  [[nodiscard]] std::vector<std::string> answers_free() const {
    return answer_held_ ? std::vector<std::string>{}
                        : std::vector{answer_claim()};
  }

  /// What this rests on moved; the store's clock is known from here on.
  void try_again(time_point store_time) {
    store_time_ = store_time;
    if (++tries_ == max_tries)
      return unavailable();
    again();
  }
  void retry() { try_again(decision_time()); }
  [[nodiscard]] int tries() const { return tries_; }

  // Endings.
  void finish(wire::join_answer answer) {
    auto done = std::exchange(done_, nullptr);
    done(std::move(answer));
  }
  void unavailable() {
    finish(signer().failed(errc::unavailable, unavailable_text(),
                           streams_->now()));
  }
  /// ACCESS_DENIED; its reason is the caller's to report.
  void deny(std::string_view message) {
    finish(signer().failed(errc::access_denied, message, asked_at_));
  }

  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point decision_time() const {
    return store_time_.value_or(streams_->now());
  }
  void set_store_time(time_point t) { store_time_ = t; }
  [[nodiscard]] bool is_over(const events::claim_holder& holder) const {
    return holder.expires_at && *holder.expires_at <= decision_time();
  }
  [[nodiscard]] answer_signer signer() const { return {*keys_, csr_sha256_}; }

  // Read by the steps.
  std::shared_ptr<const pki::key_bundle> keys_;
  std::shared_ptr<ledger> streams_;
  std::string correlation_;
  std::optional<pki::csr> csr_;
  pki::sha256_digest csr_sha256_{};
  /// Of a batch that was given to the journal.
  signed_text new_answer_;

 private:
  static constexpr int max_tries = 3;

  Run* run() { return static_cast<Run*>(this); }

  std::function<void(wire::join_answer)> done_;
  time_point asked_at_;
  bool answer_held_ = false;  // by an answer that is void
  plain_step if_void_ = nullptr;
  int tries_ = 0;
  std::optional<time_point> store_time_;
};

}  // namespace bc::actors
