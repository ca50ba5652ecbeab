#include "ops/cli/machine_keys.hpp"

#include "base/json.hpp"
#include "gateway/http_client.hpp"
#include "gateway/routes.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/store.hpp"
#include "pki/jwe.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <iterator>

namespace bc::cli {

namespace {

constexpr int http_ok = 200;
constexpr std::size_t max_input = 64 * 1024;

// {join: {encryptionJwk, encryptionKeyPin, signingKeyPin}, gateway:
// {servingCaPin}}
result<machine_keys> from_document(const json::reader& from) {
  BC_TRY(join, from.object("join"));
  if (!from.has("gateway"))
    return fail(errc::invalid_input,
                "the document names no gateway, so it has no pin of the "
                "serving CA: set gateway.url of the server");
  BC_TRY(gateway, from.object("gateway"));
  BC_TRY(jwk, join.object("encryptionJwk"));
  BC_TRY(encryption, join.text("encryptionKeyPin"));
  BC_TRY(signing, join.text("signingKeyPin"));
  BC_TRY(serving, gateway.text("servingCaPin"));
  return machine_keys{serving, signing, encryption, json::to_text(jwk.raw())};
}

// As `pki show` prints it.
result<machine_keys> from_show(const json::reader& from) {
  BC_TRY(serving, from.text("servingCaPin"));
  BC_TRY(signing, from.text("joinSigningPin"));
  BC_TRY(encryption, from.text("joinEncryptionPin"));
  BC_TRY(jwk, from.object("joinEncryptionJwk"));
  return machine_keys{serving, signing, encryption, json::to_text(jwk.raw())};
}

result<machine_keys> checked(machine_keys keys) {
  for (const auto* pin : {&keys.serving_ca_pin, &keys.join_signing_pin,
                          &keys.join_encryption_pin})
    if (!pki::is_pin(*pin))
      return fail(errc::invalid_input, "'" + *pin + "' is not a pin");
  BC_TRY(key, pki::from_jwk(keys.join_encryption_jwk));
  if (key.pin() != keys.join_encryption_pin)
    return fail(errc::invalid_input,
                "the join encryption key is not the pin's, but " + key.pin());
  keys.join_encryption_jwk = pki::to_jwk(key);
  return keys;
}

result<std::string> read_input(const std::string& path) {
  if (path != "-")
    return read_file(path);
  std::string text;
  for (char c = 0; text.size() <= max_input && std::cin.get(c);)
    text += c;
  if (text.size() > max_input)
    return fail(errc::invalid_input, "standard input is too large");
  return text;
}

std::optional<machine_keys> from_file(context& ctx, const std::string& path) {
  auto text = read_input(path);
  if (!text) {
    report(ctx, text.error(), usage);
    return std::nullopt;
  }
  auto keys = parse_machine_keys(text.value());
  if (keys)
    return std::move(keys).value();
  auto why = keys.error();
  why.message = "--pins " + path + ": " + why.message;
  report(ctx, why, usage);
  return std::nullopt;
}

std::optional<machine_keys> from_bundle(context& ctx, const keys_place& at) {
  if (at.bundle.empty() && !store_at(ctx, at.store))
    return std::nullopt;
  auto bundle = open_keys(at.bundle, at.store);
  if (bundle)
    return keys_of(*bundle.value());
  report(ctx, bundle.error());
  return std::nullopt;
}

std::optional<machine_keys> from_server(context& ctx) {
  if (!settle(ctx))
    return std::nullopt;
  auto answer = gateway::send_request(
      {ctx.url, ctx.ca_file}, "GET",
      std::string{gateway::base_path} + "/.well-known/better-compute", {}, "");
  if (!answer) {
    report(ctx, answer.error(),
           answer.error().code == errc::invalid_input ? usage : unreachable);
    return std::nullopt;
  }
  const auto& [status, body] = answer.value();
  auto keys = status == http_ok ? parse_machine_keys(body)
                                : result<machine_keys>{fault_of(status, body)};
  if (!keys) {
    auto why = keys.error();
    why.message = "the well-known document of " + ctx.url + ": " + why.message;
    report(ctx, why);
    return std::nullopt;
  }
  // Who can serve that name could have chosen them.
  std::cerr << "The pins are those that " << ctx.url
            << " answers; compare them with `better-compute pki show`.\n";
  return std::move(keys).value();
}

}  // namespace

machine_keys keys_of(const pki::key_bundle& bundle) {
  auto pins = pki::pins_of(bundle);
  return {pins.serving_ca, pins.join_signing, pins.join_encryption,
          pki::to_jwk(bundle.join_encryption.pub())};
}

result<machine_keys> parse_machine_keys(std::string_view json) {
  BC_TRY(doc, json::parse_object(json));
  json::reader from{doc};
  if (!from.has("join") && !from.has("servingCaPin"))
    return fail(errc::invalid_input,
                "this is neither what `pki show --output json` prints nor a "
                "well-known document with join keys");
  BC_TRY(keys, from.has("join") ? from_document(from) : from_show(from));
  return checked(std::move(keys));
}

void add_keys_options(CLI::App& command, context& ctx, keys_place& at) {
  add_path(command, "--pins", at.pins_file,
           "File with what `pki show --output json` prints, or with the "
           "well-known document; -: standard input");
  add_path(command, "--bundle", at.bundle, "The file of the sealed key bundle");
  add_store_option(command, at.store)
      ->description("The store that holds the key bundle");
  add_server_options(command, ctx);
}

std::optional<machine_keys> read_machine_keys(context& ctx,
                                              const keys_place& at) {
  if (!at.pins_file.empty())
    return from_file(ctx, at.pins_file);
  if (!at.bundle.empty() || !at.store.empty())
    return from_bundle(ctx, at);
  return from_server(ctx);
}

}  // namespace bc::cli
