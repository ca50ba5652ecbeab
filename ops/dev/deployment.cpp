#include "ops/dev/deployment.hpp"

#include "base/encoding.hpp"
#include "events/directory.hpp"
#include "events/pki_bundle.hpp"
#include "events/streams.hpp"
#include "ops/cli/files.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/store/append.hpp"
#include "pki/digest.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::dev {

namespace {

using cli::read_secret_file;
using cli::write_new_secret_file;

// The events of the first append, few enough to find again in one read.
constexpr std::size_t first_events = 16;

result<void> make_folder(const std::string& path) {
  if (path.empty())
    return fail(errc::invalid_input, "the name of the --data folder is empty");
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(errc::invalid_config,
                "cannot make the folder " + path + ": " + std::strerror(errno));
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return fail(errc::invalid_config, path + " is not a folder");
  if (st.st_uid != ::geteuid())
    return fail(errc::invalid_config,
                path +
                    " belongs to another user; run as that user, or choose "
                    "another --data folder");
  if ((st.st_mode & 077) == 0)
    return ok();
  // A folder just made by mkdir(1) is no reason to stop; one that others could
  // already write to is.
  std::error_code failed;
  if (std::filesystem::is_empty(path, failed) && !failed &&
      ::chmod(path.c_str(), 0700) == 0)
    return ok();
  return fail(errc::invalid_config, path +
                                        " is open to other users; look what is "
                                        "in it, then run: chmod 700 " +
                                        path);
}

std::string new_secret_text() {
  return to_base64url(pki::random_secret(32).expose());
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

result<secret_bytes> secret_of(const paths& files, bool first_start) {
  if (!exists(files.secret())) {
    if (!first_start)
      return fail(errc::invalid_config,
                  files.secret() + " is missing: it opens the keys in " +
                      files.journal() +
                      "; restore it, or start over with "
                      "another --data folder");
    BC_TRYV(write_new_secret_file(files.secret(), new_secret_text() + "\n"));
  }
  return read_secret_file(files.secret());
}

result<void> append(deployment& d, const events::batch& b) {
  BC_TRY(done,
         store::append_known(
             *d.store.journal, b,
             fail(errc::internal, "the store refused the deployment's events"))
             .done);
  static_cast<void>(done);
  return ok();
}

// One append makes the whole deployment, so that a first start that is cut off
// leaves nothing behind.
result<void> bootstrap(deployment& d, const paths& files,
                       const secret_bytes& secret, time_point now) {
  BC_TRY(bundle, pki::make_bundle("compute.localhost", now));
  BC_TRY(sealed, pki::seal_bundle(bundle, secret));
  auto pins = pki::pins_of(bundle);
  d.root_tenant = pki::mint<tenant_id>(now);
  d.site = pki::mint<site_id>(now);
  d.pool = pki::mint<pool_id>(now);
  auto credential = serve::mint_root_credential(d.root_tenant, now);

  auto b = serve::new_batch(now);
  auto write = [&](events::stream_id stream, events::event_write event) {
    b.writes.push_back(
        serve::first_event(std::move(stream), d.root_tenant, std::move(event)));
  };
  write(std::string{events::pki_stream},
        events::pki_bundle::encode(events::pki_bundle::initialized{
            bundle.trust_domain, pins.serving_ca, pins.join_signing,
            pins.join_encryption, now, sealed}));
  b.writes.push_back(serve::root_tenant_event(d.root_tenant, now));
  write(events::stream_of(d.site),
        events::site::encode(events::site::created{
            d.site, d.root_tenant, "dev", events::site::kind::dedicated, now}));
  write(events::stream_of(d.pool), events::pool::encode(events::pool::created{
                                       d.pool, d.root_tenant, d.site, "dev",
                                       events::pool::agent::bcd, now}));
  b.writes.push_back(std::move(credential.write));

  // A credential file without its event is from a first start that was cut off.
  ::unlink(files.credential().c_str());
  BC_TRYV(
      write_new_secret_file(files.credential(), credential.text.expose_text()));
  return append(d, b);
}

// Without a credential nobody could make one: the deployment would be lost. Who
// may write here holds the keys anyway. The name is given last, so that a start
// that is cut off leaves no file whose credential the store does not know.
result<void> replace_credential(deployment& d, const paths& files,
                                time_point now) {
  auto credential = serve::mint_root_credential(d.root_tenant, now);
  auto unnamed = files.credential() + ".new";
  ::unlink(unnamed.c_str());
  BC_TRYV(write_new_secret_file(unnamed, credential.text.expose_text()));
  auto b = serve::new_batch(now);
  b.writes.push_back(std::move(credential.write));
  BC_TRYV(append(d, b));
  if (::rename(unnamed.c_str(), files.credential().c_str()) != 0)
    return fail(errc::unavailable,
                "cannot rename " + unnamed + ": " + std::strerror(errno));
  d.new_credential = true;
  return ok();
}

result<void> find_first_events(deployment& d) {
  BC_TRY(root, serve::find_root_tenant(*d.store.journal));
  if (root)
    d.root_tenant = *root;
  BC_TRY(rows, d.store.journal->read_all(0, first_events));
  for (const auto& row : rows) {
    auto kind = events::kind_of(row.stream);
    if (kind == "site" && d.site.empty()) {
      BC_TRY(e, events::site::decode(row));
      d.site = std::get<events::site::created>(e).id;
    } else if (kind == "pool" && d.pool.empty()) {
      BC_TRY(e, events::pool::decode(row));
      d.pool = std::get<events::pool::created>(e).id;
    }
  }
  if (d.root_tenant.empty() || d.site.empty() || d.pool.empty())
    return fail(errc::internal,
                "the store has no root tenant; it was not made by dev");
  return ok();
}

result<void> load_keys(deployment& d, const paths& files,
                       const secret_bytes& secret) {
  auto keys = serve::load_keys(*d.store.journal, secret);
  if (!keys) {
    auto f = keys.error();
    f.message = "the secret in " + files.secret() +
                " does not open the keys: " + f.message;
    return f;
  }
  d.keys = keys.value();
  return ok();
}

}  // namespace

result<deployment> open_deployment(const paths& files, const clock& time) {
  BC_TRYV(make_folder(files.data));
  deployment d;
  const store::location where{store::kind::sqlite, files.journal()};
  BC_TRYV(store::migrate(where, time));
  BC_TRY(opened, store::open(where, time));
  d.store = std::move(opened);
  BC_TRY(head, d.store.journal->head());
  d.first_start = head.position == 0;
  BC_TRY(secret, secret_of(files, d.first_start));
  if (d.first_start) {
    BC_TRYV(bootstrap(d, files, secret, time.now()));
  }
  BC_TRYV(find_first_events(d));
  BC_TRYV(load_keys(d, files, secret));
  if (!exists(files.credential())) {
    BC_TRYV(replace_credential(d, files, time.now()));
  }
  return d;
}

}  // namespace bc::dev
