#include "base/json.hpp"
#include "events/checkpoint.hpp"
#include "events/pki_bundle.hpp"
#include "events/streams.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/gateway_files.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/pki_bundle.hpp"
#include "ops/cli/store.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/store/append.hpp"
#include "pki/jwe.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

std::string_view rotation_text(const pki::other_key& other) {
  return other.what == pki::other_key::phase::prepared ? "prepared"
                                                       : "activated";
}

void put_rotations(json::writer& out, const pki::key_bundle& bundle) {
  out.key("rotating").begin_array();
  for (const auto& [name, other] : bundle.others)
    out.begin_object()
        .field("key", pki::key_text(name))
        .field("step", rotation_text(other))
        .field("at", to_rfc3339(other.since))
        .end_object();
  out.end_array();
}

void show_pins(const context& ctx, const pki::key_bundle& bundle) {
  auto pins = pki::pins_of(bundle);
  std::vector<std::string> journal_keys;
  for (const auto& key : pki::journal_keys_of(bundle))
    journal_keys.push_back(events::journal_key_text(key));
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("trustDomain", bundle.trust_domain)
        .field("servingCaPin", pins.serving_ca)
        .field("joinSigningPin", pins.join_signing)
        .field("joinEncryptionPin", pins.join_encryption)
        .key("joinEncryptionJwk")
        .raw(pki::to_jwk(bundle.join_encryption.pub()))
        .field("journalKey", journal_keys.front())
        .field("journalKeys", journal_keys);
    put_rotations(out, bundle);
    out.end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "trust domain              " << bundle.trust_domain << "\n"
            << "serving_ca_spki_pin       " << pins.serving_ca << "\n"
            << "join_signing_key_pin      " << pins.join_signing << "\n"
            << "join_encryption_key_pin   " << pins.join_encryption << "\n"
            << "journal key               " << journal_keys.front() << "\n";
  for (std::size_t i = 1; i < journal_keys.size(); ++i)
    std::cout << "journal key, also         " << journal_keys[i] << "\n";
  for (const auto& [name, other] : bundle.others)
    std::cout << "rotating                  " << pki::key_text(name) << ": "
              << rotation_text(other) << " at " << to_rfc3339(other.since)
              << "\n";
}

fault already_there(const store::location& where) {
  return fail(errc::already_exists,
              store::shown(where) + " has its keys; nothing was changed");
}

result<void> put_in_store(const store::location& where,
                          const pki::key_bundle& bundle,
                          const std::string& sealed) {
  system_clock time;
  BC_TRY(opened, store::open(where, time));
  auto now = time.now();
  auto pins = pki::pins_of(bundle);
  auto b = serve::new_batch(now);
  // The keys are there before the root tenant is: they are nobody's.
  b.writes.push_back(serve::first_event(
      std::string{events::pki_stream}, tenant_id{},
      events::pki_bundle::encode(events::pki_bundle::initialized{
          bundle.trust_domain, pins.serving_ca, pins.join_signing,
          pins.join_encryption, now, sealed})));
  BC_TRY(done,
         store::append_known(*opened.journal, b, already_there(where)).done);
  static_cast<void>(done);
  return ok();
}

result<void> put_away(const bundle_place& at, const pki::key_bundle& bundle,
                      const std::string& sealed) {
  if (!at.in_store())
    return write_new_secret_file(at.path(), sealed + "\n");
  BC_TRY(where, store::parse_url(at.url));
  return put_in_store(where, bundle, sealed);
}

void init(context& ctx, const std::string& domain, const bundle_place& at) {
  auto secret = deployment_secret();
  if (!secret)
    return report(ctx, secret.error(), usage);
  if (at.in_store() && !store_at(ctx, at.url))
    return;
  auto bundle = pki::make_bundle(domain, system_clock{}.now());
  if (!bundle)
    return report(ctx, bundle.error(), usage);
  auto sealed = pki::seal_bundle(bundle.value(), secret.value());
  if (!sealed)
    return report(ctx, sealed.error(), usage);
  if (auto kept = put_away(at, bundle.value(), sealed.value()); !kept)
    return report(ctx, kept.error());
  show_pins(ctx, bundle.value());
  if (!at.in_store() && !ctx.json())
    std::cout << "The sealed keys are in " << at.path() << " (0600).\n";
}

void issue_gateway(context& ctx, const bundle_place& at,
                   const std::vector<std::string>& names,
                   const std::string& out_dir) {
  auto bundle = load_bundle(ctx, at);
  if (!bundle)
    return;
  auto made = make_gateway_files(*bundle, names, system_clock{}.now());
  if (!made)
    return report(ctx, made.error(),
                  made.error().code == errc::invalid_input ? usage : refused);
  // A name that a certificate can have is no path.
  const auto& folder = out_dir.empty() ? names.front() : out_dir;
  auto written = write_gateway_files(folder, made.value());
  if (!written)
    return report(ctx, written.error());
  if (ctx.json()) {
    json::writer out;
    out.begin_object();
    for (const auto& f : made.value())
      out.field(f.role, folder + "/" + f.name);
    out.end_object();
    std::cout << out.str() << "\n";
    return;
  }
  for (const auto& f : made.value())
    std::cout << folder << "/" << f.name << std::string(18 - f.name.size(), ' ')
              << f.purpose << "\n";
}

}  // namespace

void add_pki(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "pki",
      "The machine PKI: make it, show its pins, certify gateways, rotate keys");
  group->require_subcommand(1);
  auto at = std::make_shared<bundle_place>();

  auto* i = group->add_subcommand("init",
                                  "Make every key of a deployment, sealed with "
                                  "BETTER_COMPUTE_SECRET; prints the pins");
  auto domain = std::make_shared<std::string>();
  i->add_option("--trust-domain", *domain,
                "SPIFFE trust domain, for example compute.example.com")
      ->required();
  add_bundle_place(
      *i, *at, "--out,--bundle",
      "Instead of a store: a new file (0600) for the sealed bundle "
      "[better-compute.bundle]");
  add_output_option(*i, ctx);
  add_examples(*i, {"pki init --trust-domain compute.example.com \\\n"
                    "    --store postgres://compute@db.example.com/compute"});
  i->callback([&ctx, domain, at] { init(ctx, *domain, *at); });

  auto* s = group->add_subcommand(
      "show", "Print the pins, and the key that checkpoints are signed with");
  add_bundle_place(*s, *at);
  add_output_option(*s, ctx);
  add_examples(*s, {"pki show --store sqlite:journal.db",
                    "pki show --bundle better-compute.bundle --output json"});
  s->callback([&ctx, at] {
    if (auto bundle = load_bundle(ctx, *at))
      show_pins(ctx, *bundle);
  });

  auto* g = group->add_subcommand(
      "issue-gateway", "Make the certificates and keys of one gateway");
  auto names = std::make_shared<std::vector<std::string>>();
  auto folder = std::make_shared<std::string>();
  g->add_option("--name,--san", *names,
                "DNS name or IP that machines dial; may repeat")
      ->required();
  add_path(*g, "--out-dir", *folder,
           "A new folder (0700) for them; without it, one here by the first "
           "name");
  add_bundle_place(*g, *at);
  add_output_option(*g, ctx);
  add_examples(*g, {"pki issue-gateway --name gw-1.example.com",
                    "pki issue-gateway --name gw-1.example.com \\\n"
                    "    --store postgres://compute@db.example.com/compute "
                    "--out-dir gw-1"});
  g->callback(
      [&ctx, at, names, folder] { issue_gateway(ctx, *at, *names, *folder); });
  add_pki_rotate(*group, ctx);
}

}  // namespace bc::cli
