#include "base/json.hpp"
#include "events/pki_bundle.hpp"
#include "events/streams.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/pki_bundle.hpp"
#include "ops/cli/store.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/store/append.hpp"
#include "pki/rotation.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <vector>

namespace bc::cli {

namespace {

using events::pki_bundle::step;

struct rotation {
  bundle_place at;
  step what = step::prepared;
  std::vector<std::string> names;
  bool early = false;
};

result<pki::key_bundle> one_step(const pki::key_bundle& from, step what,
                                 pki::key_name key, time_point now,
                                 bool early) {
  switch (what) {
    case step::prepared:
      return pki::prepare_key(from, key, now);
    case step::activated:
      return pki::activate_key(from, key, now, early);
    case step::retired:
      break;
  }
  return pki::retire_key(from, key, now, early);
}

result<std::vector<pki::key_name>> keys_named(
    const std::vector<std::string>& names) {
  if (names.empty())
    return std::vector(pki::every_key.begin(), pki::every_key.end());
  std::vector<pki::key_name> out;
  for (const auto& name : names) {
    auto key = pki::parse_key_name(name);
    if (!key)
      return fail(errc::invalid_input, "--key: there is no key " + name);
    out.push_back(*key);
  }
  return out;
}

// All keys go the step together or none does.
result<pki::key_bundle> all_steps(const pki::key_bundle& from,
                                  const rotation& r,
                                  const std::vector<pki::key_name>& keys,
                                  time_point now) {
  auto out = pki::clone(from);
  for (auto key : keys) {
    BC_TRY(next, one_step(out, r.what, key, now, r.early));
    out = std::move(next);
  }
  return out;
}

struct rotated {
  pki::key_bundle bundle;
  std::vector<std::string> keys;
};

result<rotated> rotate_sealed(const std::string& sealed, const rotation& r,
                              const secret_bytes& secret, time_point now,
                              std::string& resealed) {
  BC_TRY(bundle, pki::open_bundle(sealed, secret));
  BC_TRY(keys, keys_named(r.names));
  BC_TRY(next, all_steps(*bundle, r, keys, now));
  BC_TRY(text, pki::seal_bundle(next, secret));
  resealed = std::move(text);
  std::vector<std::string> names;
  for (auto key : keys)
    names.emplace_back(pki::key_text(key));
  return rotated{std::move(next), std::move(names)};
}

result<rotated> rotate_in_store(const store::location& where, const rotation& r,
                                const secret_bytes& secret) {
  system_clock time;
  BC_TRY(opened, store::open(where, time));
  BC_TRY(current, serve::read_sealed_keys(*opened.journal));
  if (!current.bundle)
    return fail(errc::not_found,
                store::shown(where) + " has no keys; run pki init first");
  auto now = opened.journal->now();
  std::string sealed;
  BC_TRY(done, rotate_sealed(current.bundle->sealed, r, secret, now, sealed));
  auto pins = pki::pins_of(done.bundle);
  auto b = serve::new_batch(now);
  auto write = serve::first_event(
      std::string{events::pki_stream}, tenant_id{},
      events::pki_bundle::encode(events::pki_bundle::rotated{
          r.what,
          done.keys,
          {pins.serving_ca, pins.join_signing, pins.join_encryption},
          now,
          sealed}));
  write.expected_version = current.version;
  b.writes.push_back(std::move(write));
  auto taken =
      fail(errc::conflict, "the keys were changed meanwhile; nothing was done");
  BC_TRY(kept, store::append_known(*opened.journal, b, taken).done);
  static_cast<void>(kept);
  return std::move(done);
}

result<rotated> rotate_in_file(const std::string& path, const rotation& r,
                               const secret_bytes& secret) {
  BC_TRY(text, read_secret_file(path));
  std::string sealed;
  BC_TRY(done, rotate_sealed(std::string{text.expose_text()}, r, secret,
                             system_clock{}.now(), sealed));
  BC_TRYV(replace_secret_file(path, sealed + "\n"));
  return std::move(done);
}

result<rotated> rotate_at(const rotation& r, const secret_bytes& secret) {
  if (!r.at.in_store())
    return rotate_in_file(r.at.path(), r, secret);
  BC_TRY(where, store::parse_url(r.at.url));
  return rotate_in_store(where, r, secret);
}

std::string_view next_step(step what) {
  switch (what) {
    case step::prepared:
      return "Next: restart every server process, certify the gateways again "
             "(pki issue-gateway) and\nreload them. 24 hours after the last "
             "of these, when every node has\nrenewed: pki rotate "
             "activate";
    case step::activated:
      return "Next: restart every server process, certify the gateways again "
             "and reload them, make\nthe install script anew. 24 hours after "
             "the last of these: pki rotate retire";
    case step::retired:
      break;
  }
  return "Next: restart every server process, certify the gateways again and "
         "reload them.";
}

void show(const context& ctx, const rotation& r, const rotated& done) {
  auto pins = pki::pins_of(done.bundle);
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("step", events::pki_bundle::step_text(r.what))
        .field("keys", done.keys)
        .field("servingCaPin", pins.serving_ca)
        .field("joinSigningPin", pins.join_signing)
        .field("joinEncryptionPin", pins.join_encryption)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  for (const auto& key : done.keys)
    std::cout << key << "  " << events::pki_bundle::step_text(r.what) << "\n";
  std::cout << next_step(r.what) << "\n";
}

void rotate(context& ctx, const rotation& r) {
  auto secret = deployment_secret();
  if (!secret)
    return report(ctx, secret.error(), usage);
  if (r.at.in_store() && !store_at(ctx, r.at.url))
    return;
  auto done = rotate_at(r, secret.value());
  if (!done)
    return report(ctx, done.error(),
                  done.error().code == errc::invalid_input ? usage : refused);
  show(ctx, r, done.value());
}

void add_step(CLI::App& group, context& ctx, const char* name, step what,
              const char* help, const std::string& example) {
  auto* c = group.add_subcommand(name, help);
  auto r = std::make_shared<rotation>();
  r->what = what;
  std::vector<std::string> names;
  for (auto key : pki::every_key)
    names.emplace_back(pki::key_text(key));
  c->add_option("--key", r->names, "Which key; may repeat [all of them]")
      ->check(CLI::IsMember(names));
  if (what != step::prepared)
    c->add_flag("--early", r->early,
                "Without the wait of 24 hours since the last step, which you "
                "count from the restart of the last process: nodes that did "
                "not renew since are lost and must join again");
  add_bundle_place(*c, r->at);
  add_output_option(*c, ctx);
  add_examples(*c, {example});
  c->callback([&ctx, r] { rotate(ctx, *r); });
}

}  // namespace

void add_pki_rotate(CLI::App& pki, context& ctx) {
  auto* group = pki.add_subcommand(
      "rotate", "Replace keys in three steps, old and new trusted meanwhile");
  group->require_subcommand(1);
  add_step(*group, ctx, "prepare", step::prepared,
           "Make the next key and let it be trusted beside the current one",
           "pki rotate prepare --key node-ca --store sqlite:journal.db");
  add_step(*group, ctx, "activate", step::activated,
           "Let the prepared key take over; the one before stays trusted",
           "pki rotate activate --key node-ca --store sqlite:journal.db");
  add_step(*group, ctx, "retire", step::retired,
           "Let the key before be no more (or, with --early, a prepared one)",
           "pki rotate retire --key node-ca --store sqlite:journal.db");
}

}  // namespace bc::cli
