#include "projections/access.hpp"

namespace bc::projections {

namespace {

// One event's rows.
class access_of_event {
 public:
  access_of_event(sql::connection& db, const statements& sql)
      : db_(db), sql_(sql) {}

  // An event that shows nothing to anybody.
  template <class Event>
  result<void> operator()(const Event&) {
    return ok();
  }

  // The events of one kind of stream.
  template <class... Events>
  result<void> operator()(const std::variant<Events...>& event) {
    return std::visit(*this, event);
  }

  result<void> operator()(const events::site::created& c) {
    if (c.site_kind == events::site::kind::shared)
      return show("site", c.id.str(), everyone);
    BC_TRYV(show("site", c.id.str(), c.owner.str()));
    return show_dedicated(c.id, c.dedicated_to);
  }

  result<void> operator()(const events::site::updated& u) {
    BC_TRY(s, db_.prepare(sql_.hide_from_others));
    // Ids of rows are "<resource> <tenant>", and '!' follows the blank.
    BC_TRYV(s.bind(1, u.id.str() + " ")
                .bind(2, u.id.str() + "!")
                .bind(3, u.owner.str())
                .bind(4, everyone)
                .run());
    return show_dedicated(u.id, u.dedicated_to);
  }

  result<void> operator()(const events::pool::created& c) {
    return show("pool", c.id.str(), c.tenant.str());
  }

  result<void> operator()(const events::node::joined& j) {
    return show("node", j.id.str(), j.tenant.str());
  }

 private:
  result<void> show_dedicated(const site_id& id,
                              const std::optional<tenant_id>& to) {
    return to ? show("site", id.str(), to->str()) : ok();
  }

  result<void> show(std::string_view kind, const std::string& resource,
                    std::string_view tenant) {
    BC_TRY(s, db_.prepare(sql_.show));
    return s.bind(1, resource + " " + std::string{tenant})
        .bind(2, tenant)
        .bind(3, kind)
        .bind(4, resource)
        .run();
  }

  sql::connection& db_;
  const statements& sql_;
};

}  // namespace

result<void> write_access(sql::connection& db, const statements& sql,
                          const change& c) {
  return std::visit(access_of_event{db, sql}, c);
}

}  // namespace bc::projections
