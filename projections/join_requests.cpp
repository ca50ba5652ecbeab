#include "projections/join_requests.hpp"

#include "events/same_machine.hpp"
#include "projections/one_row.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace bc::projections {

namespace {

using events::join_request::approved;
using events::join_request::consumed;
using events::join_request::ek_text;
using events::join_request::opened;
using events::join_request::refreshed;
using events::join_request::rejected;
using events::join_request::sighting;
using events::join_request::superseded;

std::int64_t flag(bool on) {
  return on ? 1 : 0;
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional{text};
}

// One event's row.
class row_of_event {
 public:
  row_of_event(sql::connection& db, const statements& sql,
               const events::envelope& e)
      : db_(db), sql_(sql), event_(e) {}

  result<void> operator()(const opened& o) {
    BC_TRY(s, db_.prepare(sql_.open_request));
    s.bind(1, o.id.str())
        .bind(2, o.pool ? o.pool->str() : o.site.str())
        .bind(3, o.tenant.str())
        .bind(4, o.site.str())
        .bind(5, o.pool ? o.pool->str() : std::string{})
        .bind(6, o.attestor);
    bind_seen(s, 7, o.seen);
    return s.bind(20, o.place)
        .bind(21, to_millis(o.at))
        .bind(22, to_millis(o.expires_at))
        .run();
  }

  result<void> operator()(const refreshed& r) {
    BC_TRY(s, db_.prepare(sql_.refresh_request));
    s.bind(1, r.id.str());
    bind_seen(s, 2, r.seen);
    return one_row(s.bind(15, to_millis(r.at))
                       .bind(16, to_millis(r.expires_at))
                       .bind(17, r.place));
  }

  result<void> operator()(const approved& a) {
    BC_TRY(s, db_.prepare(sql_.approve_request));
    return one_row(s.bind(1, a.id.str())
                       .bind(2, a.pool.str())
                       .bind(3, to_millis(a.expires_at))
                       .bind(4, to_millis(a.at))
                       .bind(5, a.by)
                       .bind(6, unless_empty(a.reason)));
  }

  result<void> operator()(const rejected& r) {
    BC_TRY(s, db_.prepare(sql_.reject_request));
    return one_row(s.bind(1, r.id.str())
                       .bind(2, r.pool.str())
                       .bind(3, to_millis(r.at))
                       .bind(4, r.by)
                       .bind(5, unless_empty(r.reason)));
  }

  result<void> operator()(const consumed& c) {
    BC_TRY(s, db_.prepare(sql_.consume_request));
    return one_row(
        s.bind(1, c.id.str()).bind(2, to_millis(c.at)).bind(3, c.node.str()));
  }

  result<void> operator()(const superseded& c) {
    BC_TRY(s, db_.prepare(sql_.supersede_request));
    return one_row(s.bind(1, c.id.str())
                       .bind(2, to_millis(c.at))
                       .bind(3, text_of(c.node)));
  }

 private:
  // Thirteen values, from this place on.
  static void bind_seen(sql::statement& s, int at, const sighting& seen) {
    using text = std::optional<std::string>;
    const auto& v = seen.vouch;
    const auto& t = seen.tpm;
    s.bind(at, seen.csr_sha256)
        .bind(at + 1, events::join_request::text_of(seen.machine))
        .bind(at + 2, seen.hardware_key)
        .bind(at + 3, flag(seen.trusted))
        .bind(at + 4, v ? text{v->mac} : text{})
        .bind(at + 5, v ? text{v->ip} : text{})
        .bind(at + 6, v ? text{v->by.str()} : text{})
        .bind(at + 7, v ? std::optional{v->boot_lease_epoch} : std::nullopt)
        .bind(at + 8, v ? v->workflow : text{})
        .bind(at + 9, t ? text{t->ek_hash} : text{})
        .bind(at + 10, t ? text{ek_text(t->certificate)} : text{})
        .bind(at + 11, t ? unless_empty(t->manufacturer) : text{})
        .bind(at + 12, t ? unless_empty(t->model) : text{});
  }

  result<void> one_row(sql::statement& s) {
    return change_one_row(db_, s, event_);
  }

  sql::connection& db_;
  const statements& sql_;
  const events::envelope& event_;
};

// Four values.
sql::statement& bind_joined(sql::statement& s, const events::node::joined& j,
                            const std::string& by) {
  return s.bind(1, j.id.str())
      .bind(2, j.site.str())
      .bind(3, by)
      .bind(4, flag(j.cert.role == pki::certificate_role::ramdisk));
}

result<void> mark_by_ek(sql::connection& db, const statements& sql,
                        const events::node::joined& j) {
  BC_TRY(s, db.prepare(sql.join_by_ek));
  return bind_joined(s, j, j.ek_hash).run();
}

result<void> mark_by_hardware(sql::connection& db, const statements& sql,
                              const events::node::joined& j) {
  BC_TRY(s, db.prepare(sql.join_by_hardware));
  return bind_joined(s, j, j.hardware_key).bind(5, j.tenant.str()).run();
}

result<void> mark_by_mac(sql::connection& db, const statements& sql,
                         const events::node::joined& j,
                         const std::string& mac) {
  BC_TRY(s, db.prepare(sql.join_by_mac));
  return bind_joined(s, j, mac)
      .bind(5, text_of(j.pool))
      .bind(6, j.tenant.str())
      .run();
}

}  // namespace

result<void> mark_joined(sql::connection& db, const statements& sql,
                         const events::node::joined& j) {
  if (!j.ek_hash.empty()) {
    BC_TRYV(mark_by_ek(db, sql, j));
  }
  if (j.hardware_key_trusted)
    return mark_by_hardware(db, sql, j);
  for (const auto& mac : events::macs_of(j)) {
    BC_TRYV(mark_by_mac(db, sql, j, mac));
  }
  return ok();
}

result<void> unmark_joined(sql::connection& db, const statements& sql,
                           const events::node::retired& r) {
  BC_TRY(s, db.prepare(sql.forget_joined));
  return s.bind(1, r.id.str()).run();
}

result<void> write_join_request(sql::connection& db, const statements& sql,
                                const events::envelope& event,
                                const events::join_request::event& what) {
  BC_TRYV(std::visit(row_of_event{db, sql, event}, what));
  BC_TRY(lapse, db.prepare(sql.lapse_requests));
  return lapse.bind(1, to_millis(event.time)).run();
}

}  // namespace bc::projections
