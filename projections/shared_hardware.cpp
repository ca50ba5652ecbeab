#include "projections/shared_hardware.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_key.hpp"

#include <string>
#include <vector>

namespace bc::projections {

namespace {

namespace node = events::node;

// One event's rows.
class macs_of_event {
 public:
  macs_of_event(sql::connection& db, const statements& sql,
                const events::envelope& e)
      : db_(db), sql_(sql), event_(e) {}

  // An event that tells of no hardware.
  template <class Event>
  result<void> operator()(const Event&) {
    return ok();
  }

  // The events of one kind of stream.
  template <class... Events>
  result<void> operator()(const std::variant<Events...>& event) {
    return std::visit(*this, event);
  }

  // What a node had once stays with it, also when it is reclaimed with other
  // MACs: a network card that moved on is worth a word too.
  result<void> operator()(const node::joined& j) {
    pki::hardware_claims claims;
    claims.macs = j.claims.macs;
    for (const auto& mac : pki::normalise(claims).macs) {
      BC_TRYV(add(j, to_hex(pki::sha256(as_bytes(mac)))));
    }
    return ok();
  }

  result<void> operator()(const node::hardware_shared& h) {
    for (const auto& mac : h.macs) {
      BC_TRY(s, db_.prepare(sql_.tell_shared));
      BC_TRYV(s.bind(1, row_of(h.id, mac))
                  .bind(2, h.id.str())
                  .bind(3, h.tenant.str())
                  .bind(4, mac)
                  .bind(5, to_millis(h.at))
                  .run());
    }
    return ok();
  }

  result<void> operator()(const node::retired& r) {
    const auto first = r.id.str() + " ", last = r.id.str() + "!";
    BC_TRY(macs, db_.prepare(sql_.forget_macs));
    BC_TRYV(macs.bind(1, first).bind(2, last).run());
    BC_TRY(shared, db_.prepare(sql_.forget_shared));
    return shared.bind(1, r.id.str()).bind(2, first).bind(3, last).run();
  }

 private:
  result<void> add(const node::joined& j, const std::string& mac) {
    BC_TRY(own, db_.prepare(sql_.add_mac));
    BC_TRYV(own.bind(1, row_of(j.id, mac))
                .bind(2, j.id.str())
                .bind(3, j.tenant.str())
                .bind(4, mac)
                .bind(5, sql::to_sql(event_.position))
                .run());
    BC_TRY(shared, db_.prepare(sql_.find_shared));
    return shared.bind(1, row_of(j.id, mac)).run();
  }

  // '!' follows the blank, so a node's rows are those between the two.
  static std::string row_of(const node_id& id, const std::string& mac) {
    return id.str() + " " + mac;
  }

  sql::connection& db_;
  const statements& sql_;
  const events::envelope& event_;
};

}  // namespace

result<void> write_shared_hardware(sql::connection& db, const statements& sql,
                                   const events::envelope& event,
                                   const change& c) {
  return std::visit(macs_of_event{db, sql, event}, c);
}

}  // namespace bc::projections
