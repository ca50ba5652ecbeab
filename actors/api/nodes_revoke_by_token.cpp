#include "actors/api/await_models.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/node_records.hpp"
#include "actors/api/records.hpp"
#include "events/streams.hpp"
#include "projections/queries.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// nodes.revokeByToken: the identities of every node that joined with one token,
// a page at a time. Which nodes these may be comes from the read models; each
// node's own stream decides, at its version, in an append of its own.
namespace bc::actors::api {

namespace {

namespace node = events::node;

constexpr int most_tries = 3;

enum class outcome { would_revoke, revoked, unchanged, failed };

std::string_view text_of(outcome o) {
  switch (o) {
    case outcome::would_revoke:
      return "would-revoke";
    case outcome::revoked:
      return "revoked";
    case outcome::unchanged:
      return "unchanged";
    case outcome::failed:
      break;
  }
  return "failed";
}

struct asked {
  join_token_id token;
  bool dry_run = false;
  std::string reason;
  paging page;
};

result<asked> read_input(const json::reader& in) {
  BC_TRY(page, read_paging(in));
  BC_TRY(text, in.text("tokenId"));
  BC_TRY(dry_run, in.boolean_or("dryRun", false));
  BC_TRY(reason, in.optional_text("reason"));
  auto token = join_token_id::parse(text);
  if (!token)
    return fail(errc::not_found, "No such join token");
  return asked{token.value(), dry_run, reason.value_or(""), page};
}

using node_state = shared_state<node::state>;

/// One page, one node after the other.
class revocation : public std::enable_shared_from_this<revocation> {
 public:
  revocation(exchange_ptr x, asked what)
      : x_(std::move(x)), what_(std::move(what)) {}

  void start() {
    x_->streams->token(
        what_.token,
        api::then(x_, [self = shared_from_this()](
                          const shared_state<events::join_token::state>& t) {
          if (!t->token || t->token->tenant != self->x_->who.tenant)
            return self->x_->refuse(errc::not_found, "No such join token");
          self->find_nodes();
        }));
  }

 private:
  // Every join before this call counts.
  void find_nodes() {
    x_->streams->head(
        api::then(x_, [self = shared_from_this()](events::head_row head) {
          self->position_ = head.position;
          await_models(self->x_, head.position, [self] { self->read_page(); });
        }));
  }

  void read_page() {
    auto found = std::make_shared<projections::page<projections::node_row>>();
    x_->streams->query(
        [found, tenant = x_->who.tenant.str(), token = what_.token.str(),
         page = what_.page](projections::queries& q) -> result<std::string> {
          BC_TRY(rows,
                 q.list_nodes_of_token(tenant, token, page.after, page.limit));
          *found = std::move(rows);
          return std::string{};
        },
        api::then(x_, [self = shared_from_this(), found](const std::string&) {
          self->rows_ = std::move(*found);
          self->out_.begin_object().key("items").begin_array();
          self->next();
        }));
  }

  void next() {
    if (at_ == rows_.items.size())
      return finish();
    auto id = node_id::parse(rows_.items[at_].id);
    if (!id)
      return x_->break_off(
          fail(errc::internal, "a node of no id", {}, rows_.items[at_].id));
    tries_ = 0;
    look(id.value());
  }

  // A call to the actors and the journal; a fault ends what the page can do.
  template <class T, class Step>
  reply_to<T> then(Step step) {
    return [self = shared_from_this(), step = std::move(step)](result<T> got) {
      if (!got)
        return self->give_up(got.error());
      step(std::move(got).value());
    };
  }

  void look(const node_id& id) {
    x_->streams->node(id, then<node_state>([self = shared_from_this(),
                                            id](const node_state& s) {
                        self->decide_on(id, s);
                      }));
  }

  void decide_on(const node_id& id, const node_state& s) {
    // It came back with another token, or is over: the token holds it no more.
    if (!s->node || s->node->tenant != x_->who.tenant ||
        s->node->token != what_.token.str() || s->retired_at)
      return skip();
    auto decided =
        decide(*s, node::revoke_identity{x_->streams->now(), what_.reason});
    if (!decided)
      return put(*s, outcome::failed, decided.error());
    if (what_.dry_run)
      return put(*s, decided.value().empty() ? outcome::unchanged
                                             : outcome::would_revoke);
    append(id, s, decided.value());
  }

  // Also of a node that has nothing to revoke: that it still is so.
  void append(const node_id& id, const node_state& s,
              const std::vector<node::event>& decided) {
    auto after = *s;
    events::stream_write write{events::stream_of(id), {}, s->version, {}};
    if (!decided.empty())
      write.tenant = x_->who.tenant.str();
    for (const auto& e : decided) {
      write.events.push_back(node::encode(e));
      after = evolve(std::move(after), e);
    }
    auto b = x_->new_batch();
    b.writes.push_back(std::move(write));
    x_->streams->append(
        std::move(b),
        then<events::append_outcome>(
            [self = shared_from_this(), id, after = std::move(after),
             changed = !decided.empty()](const events::append_outcome& o) {
              self->appended(id, after, changed, o);
            }));
  }

  void appended(const node_id& id, const node::state& after, bool changed,
                const events::append_outcome& o) {
    if (std::holds_alternative<events::rejected>(o)) {
      if (++tries_ < most_tries)
        return look(id);
      return put(
          after, outcome::failed,
          fail(errc::unavailable, "What this rests on keeps changing; retry"));
    }
    if (const auto* done = std::get_if<events::appended>(&o);
        done != nullptr && !done->events.empty()) {
      position_ = done->events.back().position;
      x_->wrote(position_);
      wrote_ = true;
    }
    put(after, changed ? outcome::revoked : outcome::unchanged);
  }

  void put(const node::state& s, outcome o,
           const std::optional<fault>& why = std::nullopt) {
    begin_item(row_of(s));
    end_item(o, why);
    skip();
  }

  void skip() {
    ++at_;
    next();
  }

  // The store or the actors are away: what was done stays done and is told, so
  // that the rest can be asked for again.
  void give_up(const fault& why) {
    if (!wrote_)
      return x_->break_off(why);
    for (; at_ < rows_.items.size(); ++at_) {
      begin_item(rows_.items[at_]);
      end_item(outcome::failed, fail(errc::unavailable,
                                     "The service cannot do this now; retry"));
    }
    finish();
  }

  void begin_item(const projections::node_row& row) {
    out_.begin_object().field("nodeId", row.id);
    if (!row.pool.empty())
      out_.field("poolId", row.pool);
    out_.field("hostname", row.hostname).field("status", row.status);
    out_.field("connected", row.session && !row.session->disconnected_at);
  }

  void end_item(outcome o, const std::optional<fault>& why) {
    out_.field("outcome", text_of(o));
    if (why)
      out_.field("code", wire_text(why->code)).field("message", why->message);
    out_.end_object();
  }

  void finish() {
    out_.end_array().field("cursor", rows_.next).field("position", position_);
    x_->answer(out_.end_object().str());
  }

  exchange_ptr x_;
  asked what_;
  projections::page<projections::node_row> rows_;
  std::size_t at_ = 0;          // of the row that is looked at
  int tries_ = 0;               // for that one
  std::uint64_t position_ = 0;  // of what the answer rests on
  bool wrote_ = false;
  json::writer out_;
};

}  // namespace

void nodes_revoke_by_token(exchange_ptr x) {
  auto what = read_input(x->in());
  if (!what)
    return x->refuse(what.error());
  std::make_shared<revocation>(std::move(x), std::move(what).value())->start();
}

}  // namespace bc::actors::api
