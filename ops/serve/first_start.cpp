#include "ops/serve/first_start.hpp"

#include "base/encoding.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/pki_bundle.hpp"
#include "events/streams.hpp"
#include "ops/cli/files.hpp"
#include "ops/store/append.hpp"
#include "pki/digest.hpp"

#include <unistd.h>

namespace bc::serve {

namespace {

constexpr std::string_view root_name = "root";
// No other tenant can take the name: there is no API without a root tenant.
constexpr std::string_view root_claim = "name:tenant::root";
constexpr std::size_t pki_events = 64;

fault already_there() {
  return fail(errc::already_exists,
              "the store has its root tenant and first credential already; a "
              "holder of that credential makes more with `better-compute "
              "credentials create`, and `credentials bootstrap --again` makes "
              "one when all are lost");
}

// The file first: a credential that nobody could read would be lost. It stays
// unless it is certain that the batch was not written.
result<void> append_with_file(events::journal& journal, const events::batch& b,
                              const std::string& file,
                              const secret_bytes& credential,
                              std::string_view when_unknown) {
  BC_TRYV(cli::write_new_secret_file(file, credential.expose_text()));
  auto [done, known] = store::append_known(journal, b, already_there());
  if (done)
    return ok();
  auto why = std::move(done).error();
  if (known)
    ::unlink(file.c_str());
  else
    why.message += "; whether the credential in " + file +
                   " counts is not known: " + std::string{when_unknown};
  return why;
}

}  // namespace

events::batch new_batch(time_point now) {
  events::batch b;
  b.id = pki::mint<batch_id>(now);
  b.actor = "system";
  b.correlation = pki::mint<request_id>(now).str();
  return b;
}

events::stream_write first_event(events::stream_id stream,
                                 const tenant_id& tenant,
                                 events::event_write event) {
  events::stream_write out;
  out.stream = std::move(stream);
  out.tenant = tenant.str();
  out.expected_version = 0;
  out.events.push_back(std::move(event));
  return out;
}

events::stream_write root_tenant_event(const tenant_id& id, time_point now) {
  return first_event(events::stream_of(id), id,
                     events::tenant::encode(events::tenant::created{
                         id, std::string{root_name}, true, now}));
}

result<std::optional<tenant_id>> find_root_tenant(events::journal& store) {
  BC_TRY(holder, store.holder(root_claim));
  if (!holder)
    return std::optional<tenant_id>{};
  BC_TRY(rows, store.read_stream(holder->stream, 0, 1));
  if (rows.empty())
    return fail(errc::internal, "the root tenant's name is taken by " +
                                    holder->stream +
                                    ", which has no events; run `better-"
                                    "compute journal verify`");
  BC_TRY(first, events::tenant::decode(rows.front()));
  const auto& made = std::get<events::tenant::created>(first);
  if (!made.root)
    return fail(errc::internal, made.id.str() + " has the root tenant's name");
  return std::optional{made.id};
}

minted_credential mint_root_credential(const tenant_id& tenant,
                                       time_point now) {
  auto id = pki::mint<credential_id>(now);
  auto secret = to_base64url(pki::random_secret(32).expose());
  auto text = id.str() + "." + secret + "\n";
  minted_credential out{
      secret_bytes{std::string_view{text}},
      first_event(events::stream_of(id), tenant,
                  events::credential::encode(events::credential::created{
                      id,
                      tenant,
                      "root",
                      {{"*", "*"}},
                      now,
                      to_hex(pki::sha256(as_bytes(secret)))}))};
  wipe(secret.data(), secret.size());
  wipe(text.data(), text.size());
  return out;
}

result<events::pki_bundle::state> read_sealed_keys(events::journal& store) {
  events::pki_bundle::state s;
  for (;;) {
    BC_TRY(rows, store.read_stream(events::pki_stream, s.version, pki_events));
    for (const auto& row : rows) {
      BC_TRY(e, events::pki_bundle::decode(row));
      s = events::pki_bundle::evolve(std::move(s), e);
    }
    if (rows.size() < pki_events)
      return s;
  }
}

result<std::shared_ptr<const pki::key_bundle>> load_keys(
    events::journal& store, const secret_bytes& secret) {
  BC_TRY(found, load_keys_at(store, secret));
  return std::move(found.bundle);
}

result<stored_keys> load_keys_at(events::journal& store,
                                 const secret_bytes& secret) {
  BC_TRY(s, read_sealed_keys(store));
  if (!s.bundle)
    return stored_keys{};
  BC_TRY(bundle, pki::open_bundle(s.bundle->sealed, secret));
  return stored_keys{std::move(bundle), s.version};
}

result<bool> keys_are_current(events::journal& store, std::uint64_t version) {
  BC_TRY(newer, store.read_stream(events::pki_stream, version, 1));
  return newer.empty();
}

result<tenant_id> bootstrap(events::journal& store, const std::string& file,
                            time_point now) {
  BC_TRY(root, find_root_tenant(store));
  if (root)
    return already_there();
  auto tenant = pki::mint<tenant_id>(now);
  auto credential = mint_root_credential(tenant, now);
  auto b = new_batch(now);
  b.writes.push_back(root_tenant_event(tenant, now));
  b.writes.push_back(std::move(credential.write));

  BC_TRYV(append_with_file(
      store, b, file, credential.text,
      "keep it, and run this again with another --out when the store answers. "
      "ALREADY_EXISTS then means that it does"));
  return tenant;
}

result<tenant_id> bootstrap_again(events::journal& store,
                                  const std::string& file, time_point now) {
  BC_TRY(root, find_root_tenant(store));
  if (!root)
    return fail(errc::invalid_state,
                "the store has no root tenant yet; run this without --again");
  auto credential = mint_root_credential(*root, now);
  auto b = new_batch(now);
  b.writes.push_back(std::move(credential.write));
  BC_TRYV(append_with_file(store, b, file, credential.text,
                           "try it, or run this again with another --out when "
                           "the store answers"));
  return *root;
}

}  // namespace bc::serve
