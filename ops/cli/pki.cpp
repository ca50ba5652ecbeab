#include "ops/cli/commands.hpp"
#include "ops/cli/files.hpp"
#include "pki/bundle.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

result<secret_bytes> deployment_secret() {
  const char* text = std::getenv("BETTER_COMPUTE_SECRET");
  if (text == nullptr || *text == '\0')
    return fail(errc::invalid_config,
                "set BETTER_COMPUTE_SECRET, the secret the key bundle is "
                "sealed with (at least 16 bytes)");
  return secret_bytes{std::string_view{text}};
}

void show_pins(const context& ctx, const pki::key_bundle& bundle) {
  auto pins = pki::pins_of(bundle);
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("trustDomain", bundle.trust_domain)
        .field("servingCaPin", pins.serving_ca)
        .field("joinSigningPin", pins.join_signing)
        .field("joinEncryptionPin", pins.join_encryption)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "trust domain              " << bundle.trust_domain << "\n"
            << "serving_ca_spki_pin       " << pins.serving_ca << "\n"
            << "join_signing_key_pin      " << pins.join_signing << "\n"
            << "join_encryption_key_pin   " << pins.join_encryption << "\n";
}

// Null when it failed, which was then reported.
std::shared_ptr<const pki::key_bundle> load(context& ctx,
                                            const std::string& path) {
  auto secret = deployment_secret();
  if (!secret) {
    report(ctx, secret.error(), usage);
    return nullptr;
  }
  auto sealed = read_secret_file(path);
  auto bundle =
      sealed ? pki::open_bundle(sealed.value().expose_text(), secret.value())
             : sealed.error();
  if (bundle)
    return bundle.value();
  report(ctx, bundle.error());
  return nullptr;
}

void init(context& ctx, const std::string& domain, const std::string& path) {
  auto secret = deployment_secret();
  if (!secret)
    return report(ctx, secret.error(), usage);
  auto bundle = pki::make_bundle(domain, system_clock{}.now());
  if (!bundle)
    return report(ctx, bundle.error(), usage);
  auto sealed = pki::seal_bundle(bundle.value(), secret.value());
  if (!sealed)
    return report(ctx, sealed.error(), usage);
  if (auto kept = write_new_secret_file(path, sealed.value() + "\n"); !kept)
    return report(ctx, kept.error());
  show_pins(ctx, bundle.value());
}

void issue_gateway(context& ctx, const std::string& path,
                   const std::vector<std::string>& names,
                   const std::string& cert_path, const std::string& key_path) {
  auto bundle = load(ctx, path);
  if (!bundle)
    return;
  auto identity = pki::issue_server_certificate(bundle->serving_ca, names,
                                                system_clock{}.now());
  if (!identity)
    return report(ctx, identity.error(), usage);
  auto key = new_secret_file::create(key_path);
  if (!key)
    return report(ctx, key.error());
  auto cert = new_secret_file::create(cert_path);
  if (!cert)
    return report(ctx, cert.error());
  if (auto kept =
          key.value().keep(identity.value().key.pkcs8_pem().expose_text());
      !kept)
    return report(ctx, kept.error());
  auto chain = pki::certificate_pem(identity.value().certificate) +
               pki::certificate_pem(bundle->serving_ca.certificate);
  if (auto kept = cert.value().keep(chain); !kept)
    return report(ctx, kept.error());
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("certificateFile", cert_path)
        .field("keyFile", key_path)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "certificate chain  " << cert_path << "\nprivate key        "
            << key_path << " (0600)\n";
}

}  // namespace

void add_pki(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "pki", "The machine PKI: make it, show its pins, certify gateways");
  group->require_subcommand(1);
  auto path = std::make_shared<std::string>("better-compute.bundle");
  auto common = [&](CLI::App* c) {
    c->add_option("--bundle", *path, "The sealed key bundle")
        ->capture_default_str();
    c->add_option("--output", ctx.output, "table or json")
        ->check(CLI::IsMember({"table", "json"}));
  };

  auto* i = group->add_subcommand("init",
                                  "Make every key of a deployment, sealed with "
                                  "BETTER_COMPUTE_SECRET; prints the pins");
  auto domain = std::make_shared<std::string>();
  i->add_option("--trust-domain", *domain,
                "SPIFFE trust domain, for example compute.example.com")
      ->required();
  common(i);
  i->callback([&ctx, domain, path] { init(ctx, *domain, *path); });

  auto* s = group->add_subcommand("show", "Print the pins again");
  common(s);
  s->callback([&ctx, path] {
    if (auto bundle = load(ctx, *path))
      show_pins(ctx, *bundle);
  });

  auto* g = group->add_subcommand("issue-gateway",
                                  "Certify a gateway's TLS server key");
  auto names = std::make_shared<std::vector<std::string>>();
  auto cert = std::make_shared<std::string>("gateway.crt");
  auto key = std::make_shared<std::string>("gateway.key");
  g->add_option("--san", *names, "DNS name or IP; may repeat")->required();
  g->add_option("--out-cert", *cert, "New file")->capture_default_str();
  g->add_option("--out-key", *key, "New 0600 file")->capture_default_str();
  common(g);
  g->callback([&ctx, path, names, cert, key] {
    issue_gateway(ctx, *path, *names, *cert, *key);
  });
}

}  // namespace bc::cli
