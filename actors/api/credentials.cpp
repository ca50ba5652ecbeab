#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "base/encoding.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

namespace bc::actors::api {

namespace {

using events::credential::created;
using events::credential::grant;

struct create_input {
  std::string tenant;  // whose credential it will be
  std::string principal;
  std::vector<grant> grants;
};

result<std::vector<grant>> read_grants(const json::reader& in) {
  std::vector<grant> grants;
  for (const auto& item : in.raw()["grants"].GetArray()) {
    auto path = "/grants/" + std::to_string(grants.size());
    json::reader one{item, path};
    BC_TRY(action, one.text("action"));
    BC_TRY(resource, one.text("resource"));
    grant g{action, resource};
    auto good = check_grant(g);
    if (good)
      good = check_opens_something(g);
    if (!good)
      return fail(errc::invalid_input, good.error().message,
                  path + good.error().path);
    grants.push_back(std::move(g));
  }
  return grants;
}

result<create_input> read_create(const exchange& x) {
  auto in = x.in();
  BC_TRY(other, in.optional_text("forTenantId"));
  BC_TRY(principal, in.text("principal"));
  // These stand in events for the server's own doing and the machines'.
  if (principal == "machine" || principal == "system")
    return fail(errc::invalid_input, "is a reserved name", "/principal");
  BC_TRY(grants, read_grants(in));
  return create_input{other.value_or(x.who.tenant.str()), principal, grants};
}

// A pattern is covered when its own text is: a `*` stands at the end alone.
result<void> check_covered(const caller& who, const std::vector<grant>& asked) {
  for (const auto& g : asked)
    if (!allows(who.grants, g.action, g.resource))
      return fail(errc::access_denied, "No grant of this credential covers " +
                                           g.action + " on " + g.resource);
  return ok();
}

std::string answer_text(const created& made, std::string_view secret,
                        std::uint64_t position) {
  json::writer out;
  out.begin_object();
  put(out, row_of(evolve({}, made)));
  out.field("credential", made.id.str() + "." + std::string{secret})
      .field("position", position);
  return out.end_object().str();
}

void make_credential(exchange_ptr x, const create_input& in,
                     const events::tenant::state& owner) {
  auto now = x->streams->now();
  auto raw = pki::random_secret(32);
  auto secret =
      std::make_shared<const secret_bytes>(to_base64url(raw.expose()));
  created made{pki::mint<credential_id>(now),
               owner.tenant->id,
               in.principal,
               in.grants,
               now,
               to_hex(pki::sha256(secret->expose()))};
  auto b = x->new_batch();
  b.writes.push_back({events::stream_of(made.id),
                      made.tenant.str(),
                      0,
                      {events::credential::encode(made)}});
  b.writes.push_back({events::stream_of(made.tenant), {}, owner.version, {}});
  append(
      x, std::move(b),
      [x, made, secret](std::uint64_t position) {
        x->answer(answer_text(made, secret->expose_text(), position));
      },
      [x] { credentials_create(x); });
}

}  // namespace

void credentials_create(exchange_ptr x) {
  auto read = read_create(*x);
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  const auto& who = x->who;
  auto id = tenant_id::parse(in.tenant);
  bool own = in.tenant == who.tenant.str();
  if (!id || (!own && !who.root))
    return x->refuse(errc::not_found, "No such tenant");
  if (auto covered = check_covered(who, in.grants); !covered)
    return x->refuse(covered.error());
  x->streams->tenant(
      id.value(),
      then(x, [x, in](const shared_state<events::tenant::state>& found) {
        if (!found->tenant)
          return x->refuse(errc::not_found, "No such tenant");
        make_credential(x, in, *found);
      }));
}

}  // namespace bc::actors::api
