#include "actors/sync_ledger.hpp"

#include "actors/group_commit.hpp"

namespace bc::actors {

sync_ledger::sync_ledger(events::journal& journal, const clock& time,
                         projections::queries* queries)
    : journal_(journal), time_(time), queries_(queries) {}

void sync_ledger::tenant(const tenant_id& id,
                         reply_to<shared_state<events::tenant::state>> done) {
  done(fold<events::tenant::state>(id, events::tenant::decode));
}

void sync_ledger::site(const site_id& id,
                       reply_to<shared_state<events::site::state>> done) {
  done(fold<events::site::state>(id, events::site::decode));
}

void sync_ledger::pool(const pool_id& id,
                       reply_to<shared_state<events::pool::state>> done) {
  done(fold<events::pool::state>(id, events::pool::decode));
}

void sync_ledger::credential(
    const credential_id& id,
    reply_to<shared_state<events::credential::state>> done) {
  done(fold<events::credential::state>(id, events::credential::decode));
}

void sync_ledger::token(
    const join_token_id& id,
    reply_to<shared_state<events::join_token::state>> done) {
  done(fold<events::join_token::state>(id, events::join_token::decode));
}

void sync_ledger::request(
    const join_request_id& id,
    reply_to<shared_state<events::join_request::state>> done) {
  done(fold<events::join_request::state>(id, events::join_request::decode));
}

void sync_ledger::node(const node_id& id,
                       reply_to<shared_state<events::node::state>> done) {
  done(fold<events::node::state>(id, events::node::decode));
}

void sync_ledger::command(const command_id& id,
                          reply_to<shared_state<events::command::state>> done) {
  done(fold<events::command::state>(id, events::command::decode));
}

void sync_ledger::boot_lease(
    const site_id& of, reply_to<shared_state<events::boot_lease::state>> done) {
  done(fold_stream<events::boot_lease::state>(events::boot_lease_stream(of),
                                              events::boot_lease::decode));
}

void sync_ledger::append(events::batch b,
                         reply_to<events::append_outcome> done) {
  auto group = commit_group(journal_, {&b, 1}, {});
  done(std::move(group.outcomes.front()));
}

void sync_ledger::holder(std::string claim,
                         reply_to<std::optional<events::claim_holder>> done) {
  done(journal_.holder(claim));
}

void sync_ledger::refusals(std::string owner, std::string csr_sha256,
                           std::size_t limit,
                           reply_to<std::vector<events::refused_join>> done) {
  done(journal_.find_refusals(owner, csr_sha256, limit));
}

void sync_ledger::event_at(std::uint64_t position,
                           reply_to<std::optional<events::envelope>> done) {
  if (position == 0)
    return done(std::optional<events::envelope>{});
  auto read = journal_.read_all(position - 1, 1);
  if (!read)
    return done(read.error());
  std::optional<events::envelope> found;
  if (!read.value().empty() && read.value().front().position == position)
    found = std::move(read.value().front());
  done(std::move(found));
}

void sync_ledger::events_after(std::uint64_t position, std::size_t limit,
                               reply_to<std::vector<events::envelope>> done) {
  done(journal_.read_all(position, limit));
}

void sync_ledger::head(reply_to<events::head_row> done) {
  done(journal_.head());
}

void sync_ledger::query(
    std::function<result<std::string>(projections::queries&)> read,
    reply_to<std::string> done) {
  if (queries_ == nullptr)
    return done(fail(errc::unavailable, "no read models here"));
  done(read(*queries_));
}

void sync_ledger::after(milliseconds, std::function<void()> run) {
  run();
}

time_point sync_ledger::now() const {
  return time_.now();
}

}  // namespace bc::actors
