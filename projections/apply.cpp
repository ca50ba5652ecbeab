#include "projections/apply.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/node_sessions.hpp"
#include "projections/access.hpp"
#include "projections/audit.hpp"
#include "projections/commands.hpp"
#include "projections/join_requests.hpp"
#include "projections/one_row.hpp"
#include "projections/shared_hardware.hpp"

namespace bc::projections {

namespace {

using events::envelope;
namespace credential = events::credential;
namespace join_request = events::join_request;
namespace join_token = events::join_token;
namespace node = events::node;

std::int64_t flag(bool on) {
  return on ? 1 : 0;
}

std::string text_of(const events::pool::policy& rules) {
  json::writer out;
  put(out, rules);
  return out.str();
}

std::string text_of(const std::vector<std::string>& items) {
  json::writer out;
  out.begin_array();
  for (const auto& item : items)
    out.text(item);
  return out.end_array().str();
}

// One event's writes.
class rows_of_event {
 public:
  rows_of_event(sql::connection& db, const statements& sql, const envelope& e)
      : db_(db), sql_(sql), event_(e) {}

  result<void> operator()(std::monostate) { return ok(); }

  // The events of one kind of stream.
  template <class... Events>
  result<void> operator()(const std::variant<Events...>& event) {
    return std::visit(*this, event);
  }

  result<void> operator()(const events::tenant::created& c) {
    BC_TRY(s, db_.prepare(sql_.add_tenant));
    return s.bind(1, c.id.str())
        .bind(2, c.name)
        .bind(3, flag(c.root))
        .bind(4, to_millis(c.at))
        .run();
  }

  result<void> operator()(const events::site::created& c) {
    BC_TRY(s, db_.prepare(sql_.add_site));
    return s.bind(1, c.id.str())
        .bind(2, c.owner.str())
        .bind(3, c.name)
        .bind(4, events::site::kind_text(c.site_kind))
        .bind(5, to_millis(c.at))
        .bind(6, text_of(c.dedicated_to))
        .run();
  }

  result<void> operator()(const events::site::updated& u) {
    BC_TRY(s, db_.prepare(sql_.update_site));
    return one_row(
        s.bind(1, u.name).bind(2, text_of(u.dedicated_to)).bind(3, u.id.str()));
  }

  result<void> operator()(const events::site::deleted& d) {
    BC_TRY(s, db_.prepare(sql_.delete_site));
    return one_row(s.bind(1, to_millis(d.at)).bind(2, d.id.str()));
  }

  result<void> operator()(const events::pool::created& c) {
    BC_TRY(s, db_.prepare(sql_.add_pool));
    return s.bind(1, c.id.str())
        .bind(2, c.tenant.str())
        .bind(3, c.site.str())
        .bind(4, c.name)
        .bind(5, events::pool::agent_text(c.pool_agent))
        .bind(6, to_millis(c.at))
        .bind(7, text_of(c.rules))
        .run();
  }

  result<void> operator()(const events::pool::updated& u) {
    BC_TRY(s, db_.prepare(sql_.update_pool));
    return one_row(s.bind(1, u.name)
                       .bind(2, events::pool::agent_text(u.pool_agent))
                       .bind(3, text_of(u.rules))
                       .bind(4, u.id.str()));
  }

  result<void> operator()(const events::pool::archived& a) {
    BC_TRY(s, db_.prepare(sql_.archive_pool));
    return one_row(s.bind(1, to_millis(a.at)).bind(2, a.id.str()));
  }

  result<void> operator()(const credential::created& c) {
    json::writer grants;
    credential::put_grants(grants, c.grants);
    BC_TRY(s, db_.prepare(sql_.add_credential));
    return s.bind(1, c.id.str())
        .bind(2, c.tenant.str())
        .bind(3, c.principal)
        .bind(4, grants.str())
        .bind(5, to_millis(c.at))
        .run();
  }

  result<void> operator()(const credential::revoked& r) {
    BC_TRY(s, db_.prepare(sql_.revoke_credential));
    return one_row(s.bind(1, to_millis(r.at)).bind(2, r.id.str()));
  }

  result<void> operator()(const join_token::created& c) {
    BC_TRY(s, db_.prepare(sql_.add_token));
    return s.bind(1, c.id.str())
        .bind(2, c.tenant.str())
        .bind(3, c.pool ? c.pool->str() : std::string{})
        .bind(4, c.site.str())
        .bind(5, join_token::role_text(c.token_role))
        .bind(6, c.max_uses)
        .bind(7, c.expect.product_uuid)
        .bind(8, c.expect.serial)
        .bind(9, c.expect.mac)
        .bind(10, c.expect.gpu_uuid)
        .bind(11, flag(c.allow_reclaim))
        .bind(12, c.hosted)
        .bind(13, to_millis(c.created_at))
        .bind(14, to_millis(c.expires_at))
        .bind(15, text_of(c.node))
        .run();
  }

  result<void> operator()(const join_token::redeemed& r) {
    BC_TRY(s, db_.prepare(sql_.spend_token));
    return one_row(s.bind(1, r.id.str()).bind(2, std::int64_t{1}));
  }

  result<void> operator()(const join_token::revoked& r) {
    BC_TRY(s, db_.prepare(sql_.revoke_token));
    return one_row(s.bind(1, to_millis(r.at)).bind(2, r.id.str()));
  }

  result<void> operator()(const join_request::event& e) {
    return write_join_request(db_, sql_, event_, e);
  }

  result<void> operator()(const node::joined& j) {
    BC_TRYV(add_certificate(j.id, j.cert));
    if (node::goes_on(j))
      return go_on(j);
    BC_TRYV(mark_joined(db_, sql_, j));
    BC_TRY(s, db_.prepare(sql_.put_node));
    return s.bind(1, j.id.str())
        .bind(2, j.tenant.str())
        .bind(3, j.site.str())
        .bind(4, j.pool ? j.pool->str() : std::string{})
        .bind(5, node::status_text(node::status::adopting))
        .bind(6, j.attestor)
        .bind(7, j.hardware_key)
        .bind(8, flag(j.hardware_key_trusted))
        .bind(9, j.claims.hostname)
        .bind(10, j.node_key)
        .bind(11, pki::role_text(j.cert.role))
        .bind(12, j.cert.generation)
        .bind(13, to_millis(j.at))
        .bind(14, j.cert.serial)
        .bind(15, node::trust_text(j.node_trust))
        .bind(16, flag(j.acceptance))
        .bind(17, to_millis(node::warn_from(j.cert)))
        .bind(18, j.token.empty() ? std::nullopt : std::optional{j.token})
        .bind(19, to_millis(j.cert.not_after))
        .bind(20, j.ek_hash.empty() ? std::nullopt : std::optional{j.ek_hash})
        .run();
  }

  result<void> operator()(const node::renewed& r) {
    BC_TRYV(add_certificate(r.id, r.cert));
    BC_TRY(s, db_.prepare(sql_.renew_node));
    return one_row(s.bind(1, r.cert.serial)
                       .bind(2, to_millis(node::warn_from(r.cert)))
                       .bind(3, to_millis(r.cert.not_after))
                       .bind(4, r.id.str()));
  }

  result<void> operator()(const node::adopted& a) {
    BC_TRY(s, db_.prepare(sql_.adopt_node));
    return one_row(s.bind(1, node::status_text(node::status::adopted))
                       .bind(2, to_millis(a.at))
                       .bind(3, a.id.str()));
  }

  result<void> operator()(const node::cordoned& c) {
    BC_TRY(s, db_.prepare(sql_.cordon_node));
    auto reason = c.reason.empty() ? std::nullopt : std::optional{c.reason};
    return one_row(s.bind(1, node::status_text(node::status::cordoned))
                       .bind(2, to_millis(c.at))
                       .bind(3, reason)
                       .bind(4, c.id.str()));
  }

  result<void> operator()(const node::retired& r) {
    BC_TRYV(unmark_joined(db_, sql_, r));
    BC_TRY(s, db_.prepare(sql_.retire_node));
    return one_row(s.bind(1, node::status_text(node::status::retired))
                       .bind(2, to_millis(r.at))
                       .bind(3, r.id.str()));
  }

  result<void> operator()(const node::certificate_revoked& r) {
    BC_TRY(of_node, db_.prepare(sql_.expect_no_renewal));
    BC_TRYV(of_node.bind(1, r.id.str()).bind(2, r.serial).run());
    BC_TRY(s, db_.prepare(sql_.revoke_certificate));
    return one_row(s.bind(1, to_millis(r.at))
                       .bind(2, node::revocation_text(r.reason))
                       .bind(3, sql::to_sql(event_.position))
                       .bind(4, r.serial)
                       .bind(5, r.id.str()));
  }

  result<void> operator()(const node::clone_suspected& c) {
    BC_TRY(s, db_.prepare(sql_.suspect_clone));
    return one_row(s.bind(1, to_millis(c.at)).bind(2, c.id.str()));
  }

  result<void> operator()(const node::connected& c) {
    BC_TRY(s, db_.prepare(sql_.connect_node));
    return one_row(s.bind(1, c.session)
                       .bind(2, c.gateway)
                       .bind(3, c.address)
                       .bind(4, c.version)
                       .bind(5, to_millis(c.at))
                       .bind(6, c.id.str()));
  }

  result<void> operator()(const node::disconnected& d) {
    BC_TRY(s, db_.prepare(sql_.disconnect_node));
    return one_row(s.bind(1, to_millis(d.at))
                       .bind(2, node::session_end_text(d.reason))
                       .bind(3, d.id.str())
                       .bind(4, d.session));
  }

  result<void> operator()(const node::acceptance_started& a) {
    BC_TRY(s, db_.prepare(sql_.start_acceptance));
    return one_row(s.bind(1, to_millis(a.at)).bind(2, a.id.str()));
  }

  result<void> operator()(const node::acceptance_failed& a) {
    BC_TRY(s, db_.prepare(sql_.fail_acceptance));
    return one_row(s.bind(1, to_millis(a.at))
                       .bind(2, text_of(a.checks))
                       .bind(3, a.id.str()));
  }

  result<void> operator()(const node::certificate_expiring& c) {
    BC_TRY(s, db_.prepare(sql_.tell_of_expiry));
    return one_row(s.bind(1, c.id.str()));
  }

  result<void> operator()(const node::inventory_recorded& i) {
    BC_TRY(s, db_.prepare(sql_.record_inventory));
    return one_row(
        s.bind(1, i.hardware_key)
            .bind(2, flag(i.hardware_key_trusted))
            .bind(3, flag(i.hardware_changed))
            .bind(4, flag(i.hardware_taken))
            .bind(5, to_millis(i.at))
            .bind(6, i.id.str())
            .bind(7, i.changed_identifiers.empty()
                         ? std::nullopt
                         : std::optional{text_of(i.changed_identifiers)}));
  }

  result<void> operator()(const events::command::event& e) {
    return write_command(db_, sql_, event_, e);
  }

  // In the rows of shared hardware alone.
  result<void> operator()(const node::hardware_shared&) { return ok(); }

 private:
  // The row stays what it is: when it joined, whether it is adopted.
  result<void> go_on(const node::joined& j) {
    BC_TRY(s, db_.prepare(sql_.rejoin_node));
    return one_row(s.bind(1, j.attestor)
                       .bind(2, j.claims.hostname)
                       .bind(3, j.node_key)
                       .bind(4, pki::role_text(j.cert.role))
                       .bind(5, j.cert.generation)
                       .bind(6, flag(j.acceptance))
                       .bind(7, j.cert.serial)
                       .bind(8, to_millis(node::warn_from(j.cert)))
                       .bind(9, to_millis(j.cert.not_after))
                       .bind(10, j.id.str()));
  }

  result<void> add_certificate(const node_id& id, const node::certificate& c) {
    BC_TRY(s, db_.prepare(sql_.add_certificate));
    return s.bind(1, c.serial)
        .bind(2, id.str())
        .bind(3, pki::role_text(c.role))
        .bind(4, c.generation)
        .bind(5, c.spki_sha256)
        .bind(6, to_millis(c.not_before))
        .bind(7, to_millis(c.not_after))
        .bind(8, to_base64(c.der))
        .run();
  }

  result<void> one_row(sql::statement& s) {
    return change_one_row(db_, s, event_);
  }

  sql::connection& db_;
  const statements& sql_;
  const envelope& event_;
};

template <class Event>
result<change> wrapped(result<Event> event) {
  if (!event)
    return std::move(event).error();
  return change{std::move(event).value()};
}

}  // namespace

result<change> read_change(const envelope& event) {
  const auto* type = events::find_event_type(event.type);
  if (!type || type->version != event.type_version)
    return fail(errc::internal, "event " + std::to_string(event.position) +
                                    " is of an unknown type, " + event.type +
                                    " version " +
                                    std::to_string(event.type_version));
  auto kind = type->stream_kind;
  if (kind == "tenant")
    return wrapped(events::tenant::decode(event));
  if (kind == "site")
    return wrapped(events::site::decode(event));
  if (kind == "pool")
    return wrapped(events::pool::decode(event));
  if (kind == "credential")
    return wrapped(credential::decode(event));
  if (kind == "join_token")
    return wrapped(join_token::decode(event));
  if (kind == "join_request")
    return wrapped(join_request::decode(event));
  if (kind == "node")
    return wrapped(node::decode(event));
  if (kind == "command")
    return wrapped(events::command::decode(event));
  // Refusals and the key bundle have no read model.
  return change{};
}

result<void> spend_token(sql::connection& db, const statements& sql,
                         const join_token_id& id, std::int64_t uses) {
  BC_TRY(s, db.prepare(sql.spend_token));
  BC_TRYV(s.bind(1, id.str()).bind(2, uses).run());
  return db.expect_changes(1);
}

result<void> write_beside_row(sql::connection& db, const statements& sql,
                              const envelope& event, const change& c) {
  BC_TRYV(write_access(db, sql, c));
  BC_TRYV(write_shared_hardware(db, sql, event, c));
  return write_audit(db, sql, event);
}

result<void> write_change(sql::connection& db, const statements& sql,
                          const envelope& event, const change& c,
                          bool none_expired) {
  BC_TRYV(std::visit(rows_of_event{db, sql, event}, c));
  BC_TRYV(write_beside_row(db, sql, event, c));
  if (none_expired || !std::holds_alternative<join_token::event>(c))
    return ok();
  BC_TRY(lapse, db.prepare(sql.lapse_tokens));
  return lapse.bind(1, to_millis(event.time)).run();
}

}  // namespace bc::projections
