#include "actors/api/listing.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "events/streams.hpp"

namespace bc::actors::api {

namespace {

using events::credential::state;

// The tenant meant: the caller's own, or, for the root tenant, another.
result<tenant_id> owner_of(const exchange& x) {
  BC_TRY(other, x.in().optional_text("forTenantId"));
  auto id = tenant_id::parse(other.value_or(x.who.tenant.str()));
  if (!id || (id.value() != x.who.tenant && !x.who.root))
    return fail(errc::not_found, "No such tenant");
  return id;
}

void answer(exchange_ptr x, const state& s, std::uint64_t position) {
  x->answer(record_text(row_of(s), position));
}

// Who revokes must not be revoked meanwhile: of two root credentials that end
// each other at once, one stays.
void append_revocation(exchange_ptr x, const shared_state<state>& own,
                       const shared_state<state>& target,
                       const events::credential::event& decided) {
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(target->credential->id),
                      target->credential->tenant.str(),
                      target->version,
                      {events::credential::encode(decided)}});
  if (own->credential->id != target->credential->id)
    b.writes.push_back(
        {events::stream_of(own->credential->id), {}, own->version, {}});
  append(
      x, std::move(b),
      [x, target, decided](std::uint64_t position) {
        answer(x, evolve(*target, decided), position);
      },
      [x] { credentials_revoke(x); });
}

void revoke(exchange_ptr x, const tenant_id& owner,
            const shared_state<state>& own, const shared_state<state>& target) {
  const auto& found = target->credential;
  if (!found || found->tenant != owner)
    return x->refuse(errc::not_found, "No such credential");
  auto decided = decide(*target, events::credential::revoke{x->streams->now()});
  if (!decided)
    return x->refuse(decided.error());
  // Once revoked is revoked for ever: nothing to confirm.
  if (decided.value().empty())
    return x->streams->head(then(x, [x, target](const events::head_row& head) {
      // Another process may have revoked it a moment ago.
      x->wrote(head.position);
      answer(x, *target, head.position);
    }));
  // A tenant that locks itself out gets another credential from the root
  // tenant, which nobody could help.
  if (x->who.root && found->id == x->who.credential)
    return x->refuse(errc::invalid_state,
                     "A root credential does not revoke itself: make another, "
                     "and revoke this one with it");
  append_revocation(x, own, target, decided.value().front());
}

}  // namespace

void credentials_list(exchange_ptr x) {
  auto owner = owner_of(*x);
  if (!owner)
    return x->refuse(owner.error());
  answer_page(x, [tenant = owner.value().str()](projections::queries& q,
                                                const paging& p) {
    return q.list_credentials(tenant, p.after, p.limit);
  });
}

void credentials_revoke(exchange_ptr x) {
  auto owner = owner_of(*x);
  if (!owner)
    return x->refuse(owner.error());
  auto text = x->in().text("credentialId");
  auto id = text ? credential_id::parse(text.value())
                 : result<credential_id>{text.error()};
  if (!id)
    return x->refuse(errc::not_found, "No such credential");
  auto with_target = [x, owner = owner.value()](const shared_state<state>& own,
                                                const credential_id& target) {
    x->streams->credential(
        target, then(x, [x, owner, own](const shared_state<state>& found) {
          revoke(x, owner, own, found);
        }));
  };
  x->streams->credential(
      x->who.credential, then(x, [x, id = id.value(),
                                  with_target](const shared_state<state>& own) {
        if (!own->credential || own->revoked_at)
          return x->refuse(errc::unauthenticated,
                           "No valid credential was presented");
        with_target(own, id);
      }));
}

}  // namespace bc::actors::api
